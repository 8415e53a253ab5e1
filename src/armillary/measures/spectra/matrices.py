"""A whole matrix of weights: its singular values, the noise in them, and the tail of its spectrum."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from armillary.measures.spectra.marchenko_pastur import MarchenkoPastur, marchenko_pastur, singular_quantile
from armillary.measures.spectra.power_law import power_law

DIGITS = 1e-8
"""How small a singular value may be beside the largest before it counts as zero: the Gram matrix knows no more."""


class PowerLawTail(NamedTuple):
    """Exponent of the tail of the squared singular values, with a 95 % interval; where the tail begins, and its fit."""

    alpha: float
    alpha_low: float
    alpha_high: float
    tail_from: float
    tail_distance: float
    tail_values: int | float


def singular_values(W: Float[np.ndarray, "inputs outputs"]) -> Float[np.ndarray, " mode"]:
    """The singular values of W, largest first, to about 1e-8 of the largest.

    The eigenvalues of the smaller of W Wᵀ and Wᵀ W take a third of the time of a singular value decomposition; what
    they lose are digits of values that are very small beside the largest.
    """
    wide = W.astype(np.float64)
    gram = wide @ wide.T if wide.shape[0] <= wide.shape[1] else wide.T @ wide
    return np.sqrt(np.linalg.eigvalsh(gram)[::-1].clip(0))


def matrix_noise(singular_value: Float[np.ndarray, " mode"], rows: int, columns: int) -> MarchenkoPastur:
    """Noise fitted to one matrix's singular values, which may be followed by NaN: see `marchenko_pastur`."""
    known = singular_value[np.isfinite(singular_value)]
    return marchenko_pastur(known, (rows, columns), epsilon=DIGITS / max(rows, columns))


class Initialised(NamedTuple):
    """A matrix beside Glorot's (Xavier's) initialisation of its shape: energy as a multiple, share of values below."""

    energy_initial: float
    below_initial: float


def beside_initial(singular_value: Float[np.ndarray, " mode"], rows: int, columns: int) -> Initialised:
    """‖W‖² over that of entries of variance 2/(rows + columns), and the share of singular values that are smaller.

    The k-th largest value is compared with the middle of the k-th of equal parts of Marchenko–Pastur. A spectrum
    that is “pressed down” has most values below and little energy. NaN for a matrix that is zero.
    """
    known = singular_value[np.isfinite(singular_value)]
    if not known.any():
        return Initialised(float("nan"), float("nan"))
    variance = 2 / (rows + columns)
    expected = np.sqrt(max(rows, columns) * variance) * noise_values(len(known), rows, columns)
    energy = float(np.sum(known**2)) / (rows * columns * variance)
    return Initialised(energy, float(np.mean(known < expected)))


@lru_cache(maxsize=16)
def noise_values(count: int, rows: int, columns: int) -> Float[np.ndarray, " mode"]:
    """The middles of `count` equal parts of Marchenko–Pastur, largest first, in units of √(long side · variance)."""
    middles = (np.arange(count, 0, -1) - 0.5) / count
    return singular_quantile(middles, min(rows, columns) / max(rows, columns))


def power_law_tail(singular_value: Float[np.ndarray, " mode"]) -> PowerLawTail:
    """The power-law tail of one matrix's squared singular values, which may be followed by NaN: see `power_law`."""
    known = singular_value[np.isfinite(singular_value)]
    return PowerLawTail(*power_law(known, epsilon=DIGITS / max(len(known), 1)))

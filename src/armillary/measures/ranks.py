"""ScreeNOT ranks of a position basis, beside what makes them no parameter: k, the number of contexts, and the noise."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from armillary.measures.position import singular_values
from armillary.measures.screenot import null_spectra, rank_from_spectrum

K = (10, 20, 30)
"""The largest ranks thought possible; the answer depends on it. The middle one is the published choice."""

SPLITS = 3


class Ranks(NamedTuple):
    """ScreeNOT ranks: of the basis, its range, its null, at other k, and of half the contexts."""

    rank_screenot: float
    rank_screenot_low: float
    rank_screenot_high: float
    rank_screenot_null: float
    rank_screenot_by_k: Float[np.ndarray, "k"]
    rank_screenot_half: float


def screenot_ranks(
    singular_value: Float[np.ndarray, "mode"],
    singular_value_without: Float[np.ndarray, "fold mode"],
    position_folds: Float[np.ndarray, "fold position d_model"],
    group: Int[np.ndarray, "context"],
) -> Ranks:
    """ScreeNOT ranks at k = 20, and all that they depend on.

    low and high: the lowest and highest rank when one fold of documents is left out. null: the median rank of
    differences of halves of the contexts, which keep the noise and its colour and hold no position. half: the rank of
    the mean over half the folds. NaN where a window has fewer than 2k + 1 positions, or there is but one fold.
    """
    shape = position_folds.shape[1:]
    several = len(position_folds) > 1
    sizes = np.bincount(group % len(position_folds))
    half = half_spectrum(position_folds, sizes) if several else None
    null = list(null_spectra(position_folds, sizes, SPLITS)) if several else []
    without = [ranked(spectrum, shape) for spectrum in singular_value_without] if several else [np.nan]
    return Ranks(
        rank_screenot=ranked(singular_value, shape),
        rank_screenot_low=min(without),
        rank_screenot_high=max(without),
        rank_screenot_null=float(np.median([ranked(spectrum, shape) for spectrum in null])) if several else np.nan,
        rank_screenot_by_k=np.array([ranked(singular_value, shape, k) for k in K]),
        rank_screenot_half=ranked(half, shape) if half is not None else np.nan,
    )


def ranked(spectrum: Float[np.ndarray, " mode"], shape: tuple[int, ...], k: int = K[1]) -> float:
    """The ScreeNOT rank; NaN where the matrix is too small for k.

    The spectra come from Gram matrices, so values below √eps of the largest are rounding and count for nothing.
    """
    if 2 * k + 1 > min(shape):
        return float("nan")
    return float(rank_from_spectrum(spectrum, shape, k, epsilon=float(np.sqrt(np.finfo(np.float64).eps)) / max(shape)))


def half_spectrum(
    position_folds: Float[np.ndarray, "fold position d_model"], sizes: Int[np.ndarray, " fold"]
) -> Float[np.ndarray, " mode"]:
    """Singular values of the mean over every other fold."""
    weights = (sizes[::2] / sizes[::2].sum()).astype(position_folds.dtype)
    mean = np.tensordot(weights, position_folds[::2], 1).astype(np.float64)
    return singular_values(mean - mean.mean(0))

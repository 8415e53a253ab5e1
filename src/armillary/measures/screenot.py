"""How many modes stand above coloured noise: ScreeNOT (Donoho, Gavish, Romanov 2023, Annals of Statistics 51)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import brentq

EPSILON = float(np.finfo(np.float64).eps)


class RankNull(NamedTuple):
    """ScreeNOT ranks of noise alone: the median over splits, the lowest and the highest."""

    rank_screenot_null: float
    rank_screenot_null_low: int
    rank_screenot_null_high: int


def rank_screenot(matrix: Float[np.ndarray, "position d_model"], k: int = 20) -> int:
    """ScreeNOT rank of a matrix: the number of singular values above the adaptive threshold, 0 to k.

    The answer depends on k, the largest rank thought possible, and for a mean over C contexts on C: give both beside
    it. The same at any scale, bit for bit at powers of two.
    """
    if not np.isfinite(matrix).all():
        raise ValueError(
            "rank_screenot needs finite numbers, but the matrix holds NaN or infinity; leave those rows out"
        )
    scaled = np.ldexp(matrix.astype(np.float64), -_exponent(float(np.abs(matrix).max(initial=0.0))))
    epsilon = float(np.finfo(matrix.dtype).eps)
    return rank_from_spectrum(np.linalg.svd(scaled, compute_uv=False), matrix.shape, k, epsilon)


def rank_from_spectrum(
    singular_values: Float[np.ndarray, "mode"], shape: tuple[int, ...], k: int = 20, epsilon: float = EPSILON
) -> int:
    """ScreeNOT rank from the singular values and the shape of their matrix, so that one SVD serves several k.

    epsilon is the rounding unit of the matrix's own dtype; singular values below σ₁ · epsilon · max(shape) count for
    nothing. A value above the bulk is kept where Ψ ≥ −4: Ψ rises, so this is y > threshold without a root to find.
    """
    spectrum = _normalised(singular_values, shape, k, epsilon)
    bulk = _bulk(spectrum, k)
    above = spectrum[spectrum > bulk[0]]
    if bulk[0] == 0:
        return len(above)
    return int(np.count_nonzero(_psi(above, bulk, min(shape) / max(shape)) > -4))


def threshold_screenot(
    singular_values: Float[np.ndarray, "mode"], shape: tuple[int, ...], k: int = 20, epsilon: float = EPSILON
) -> float:
    """ScreeNOT threshold in the units of the singular values: the y above the noise bulk with Ψ(y) = −4.

    Ψ(y) = y·D′(y)/D(y), D = φ·φ̃, φ(y) = ∫ y/(y² − z²) dF(z), φ̃ = γφ + (1 − γ)/y, γ = short side / long side, F the
    noise bulk of strategy "i". Every log-derivative in Ψ is at least −(y² + e²)/(y² − e²), e the edge of F, so the root
    lies in (e, √3·e] and the search ends. No noise at all (e = 0): 0.
    """
    spectrum = _normalised(singular_values, shape, k, epsilon)
    bulk = _bulk(spectrum, k)
    edge = bulk[0]
    if edge == 0:
        return 0.0
    gamma = min(shape) / max(shape)
    root = brentq(lambda y: _psi(np.array([y]), bulk, gamma)[0] + 4, edge * (1 + 4 * EPSILON), edge * 1.7321)
    return float(np.ldexp(root, _exponent(float(np.max(singular_values)))))


def rank_null(
    group_means: Float[np.ndarray, "group position d_model"],
    sizes: Int[np.ndarray, "group"],
    k: int = 20,
    splits: int = 5,
    seed: int = 0,
) -> RankNull:
    """ScreeNOT rank that the noise of a mean over contexts gives by itself, over splits of its groups in halves.

    The contexts' noise is coloured and smooth along the text, and ScreeNOT may take its own modes for findings; a rank
    means something where it exceeds this. For several k call null_spectra once and rank_from_spectrum on its rows.
    """
    spectra = null_spectra(group_means, sizes, splits, seed)
    ranks = [rank_from_spectrum(spectrum, group_means.shape[1:], k) for spectrum in spectra]
    return RankNull(float(np.median(ranks)), min(ranks), max(ranks))


def null_spectra(
    group_means: Float[np.ndarray, "group position d_model"],
    sizes: Int[np.ndarray, "group"],
    splits: int = 5,
    seed: int = 0,
) -> Float[np.ndarray, "sample mode"]:
    """Singular values of (mean of half the groups − mean of the other half), centred over positions, one row per split.

    Position cancels, the noise and its colour stay. Scaled by √(n₊n₋)/(n₊ + n₋), n± the contexts in the halves, so that
    the noise is as strong as in the mean over all contexts. From the smaller Gram matrix: values below 1e-8 of the
    largest are rounding.
    """
    if len(sizes) < 2:
        raise ValueError(f"null_spectra needs at least 2 groups to set against each other, but got {len(sizes)}")
    rng = np.random.default_rng(seed)
    weights = np.empty((splits, len(sizes)))
    for row in weights:
        first = np.isin(np.arange(len(sizes)), rng.permutation(len(sizes))[: len(sizes) // 2])
        plus, minus = sizes[first].sum(), sizes[~first].sum()
        row[:] = np.where(first, sizes / plus, -sizes / minus) * np.sqrt(float(plus * minus)) / (plus + minus)
    differences = np.tensordot(weights.astype(group_means.dtype), group_means, axes=1).astype(np.float64, copy=False)
    differences -= differences.mean(axis=1, keepdims=True)
    if differences.shape[1] > differences.shape[2]:
        differences = differences.swapaxes(1, 2)
    energies = np.linalg.eigvalsh(differences @ differences.swapaxes(1, 2))[:, ::-1]
    return np.sqrt(np.maximum(energies, 0))  # an eigenvalue of a Gram matrix is negative by rounding only


def _exponent(largest: float) -> int:
    return int(np.frexp(largest)[1])


def _normalised(
    singular_values: Float[np.ndarray, "mode"], shape: tuple[int, ...], k: int, epsilon: float
) -> Float[np.ndarray, "mode"]:
    if len(shape) != 2 or len(singular_values) != min(shape):
        raise ValueError(f"a matrix of shape {shape} has min(shape) singular values, but got {len(singular_values)}")
    if not 1 <= k <= (min(shape) - 1) // 2:
        raise ValueError(
            f"ScreeNOT with k = {k} needs k ≥ 1 and 2k + 1 singular values, but a {shape[0]} × {shape[1]} matrix has "
            f"{min(shape)}; take k ≤ {(min(shape) - 1) // 2}"
        )
    spectrum = np.sort(singular_values.astype(np.float64))[::-1]
    spectrum = np.ldexp(spectrum, -_exponent(float(spectrum[0])))
    return np.where(spectrum > spectrum[0] * epsilon * max(shape), spectrum, 0.0)


def _bulk(spectrum: Float[np.ndarray, "mode"], k: int) -> Float[np.ndarray, "mode"]:
    # Strategy "i": the k largest may be signal; the noise under them is drawn on from y_{k+1} and y_{2k+1} by the
    # square-root law that a noise density obeys at its edge, hence the power 2/3.
    above = (1 - (np.arange(k) / k) ** (2 / 3)) / (2 ** (2 / 3) - 1)
    return np.concatenate([spectrum[k] + above * (spectrum[k] - spectrum[2 * k]), spectrum[k:]])


def _psi(
    y: Float[np.ndarray, "candidate"], bulk: Float[np.ndarray, "mode"], gamma: float
) -> Float[np.ndarray, "candidate"]:
    squares = y[:, None] ** 2 + bulk**2
    gap = (y[:, None] - bulk) * (y[:, None] + bulk)
    phi = (y[:, None] / gap).mean(axis=1)
    slope = -(squares / gap**2).mean(axis=1)
    companion = gamma * phi + (1 - gamma) / y
    companion_slope = gamma * slope - (1 - gamma) / y**2
    return y * (slope / phi + companion_slope / companion)

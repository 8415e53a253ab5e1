"""Noise in the singular values of one matrix: the Marchenko–Pastur bulk, its edge, and the values above it."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from armillary.measures.spectra import tracy_widom

EPSILON = float(np.finfo(np.float64).eps)

FEWEST = 10
"""With fewer values in the bulk there is no fit: a few values have any shape."""

KEPT = 0.8
"""The share of the values, lowest first, that gives the variance.

With four fifths the fitted variance and the largest value err together so that the Tracy–Widom law nearly holds as it
stands. On the draws that chose it, 20 × 40 to 768 × 768, 5.0 to 5.9 % of noise matrices lay above the 5 % point; with
half of the values 5.4 to 8.5 %, with all of them 2.7 to 5.1 %, and then every outlier counts in the fit. On other draws
it was 5.3 to 6.0 %, 1.1 to 1.4 % above the 1 % point; 6.6 and 1.7 % for 30 × 30.
"""

HALVINGS = 52
"""Bisections of an angle between 0 and π, down to rounding."""


class MarchenkoPastur(NamedTuple):
    """Noise fitted to the singular values of a matrix, and what stands above it.

    `variance` is that of an entry of the noise; `edge` (where the bulk of the noise ends) and `edge_scale` (one unit of
    the Tracy–Widom law there) are singular values; `top_p` is the p-value of the largest singular value, `outliers` the
    number of significant ones, `outlier_energy` their share of the squared Frobenius norm, 0 to 1, and `ks_distance`
    the Kolmogorov–Smirnov distance between the other values and the fitted law, 0 to 1.
    """

    variance: float
    edge: float
    edge_scale: float
    top_p: float
    outliers: int | float
    outlier_energy: float
    ks_distance: float


UNKNOWN = MarchenkoPastur(*[float("nan")] * 7)


def marchenko_pastur(
    singular_values: Float[np.ndarray, "mode"], shape: tuple[int, ...], level: float = 0.01, epsilon: float = EPSILON
) -> MarchenkoPastur:
    """Noise of equal variance fitted to a matrix's singular values, in their units, and the outliers above its edge.

    The null is a matrix of independent Gaussian entries of one unknown variance: no training, or a part of the weights
    that training did not order. A product of matrices has another law; this is no null for it.

    Largest first, each value is tested against the noise fitted to those below it, as the largest of a matrix with as
    many rows and columns less as were found, until one is not significant at `level`. Noise alone thus has an outlier
    about as often as `level` says: at 0.01 in 1.1 to 1.7 % of matrices, at 0.001 in 0.1 to 0.3 %. `top_p` is the first
    of these p-values. Many outliers close to the edge (a tenth of all values) raise the variance that the first test
    assumes: it then finds too little rather than too much.

    Singular values below σ₁ · epsilon · max(shape) count as zero, epsilon being the rounding unit of the matrix's dtype
    or of the values' own, whichever is coarser. They are left out and the short side counts that much less: right for a
    matrix with rows of zeros. All NaN with fewer than 10 others; all but `top_p` where outliers leave fewer than 10.
    """
    values = _nonzero(singular_values, shape, epsilon)
    if len(values) < FEWEST:
        return UNKNOWN
    exponent = int(np.frexp(values[-1])[1])
    squares = np.ldexp(values, -exponent) ** 2
    noise = _noises(len(values), max(shape))
    variances = np.cumsum(squares)[noise.kept - 1] / noise.energy
    largest = squares[::-1][: len(variances)]
    beyond = (largest / variances - noise.edge**2) / (2 * noise.edge * noise.scale)
    top_p = float(tracy_widom.survival(float(beyond[0])))
    significant = tracy_widom.survival(np.minimum(beyond, tracy_widom.HIGHEST)) < level
    if significant.all():
        return UNKNOWN._replace(top_p=top_p)
    outliers = int(np.argmin(significant))
    bulk, long = squares[: len(squares) - outliers], max(shape) - outliers
    variance = float(variances[outliers])
    below = squared_cdf(bulk / (long * variance), len(bulk) / long)
    steps = np.arange(len(bulk) + 1) / len(bulk)
    return MarchenkoPastur(
        variance=float(np.ldexp(variance, 2 * exponent)),
        edge=float(np.ldexp(np.sqrt(variance) * noise.edge[outliers], exponent)),
        edge_scale=float(np.ldexp(np.sqrt(variance) * noise.scale[outliers], exponent)),
        top_p=top_p,
        outliers=outliers,
        outlier_energy=float(squares[len(bulk) :].sum() / squares.sum()),
        ks_distance=float(max((steps[1:] - below).max(), (below - steps[:-1]).max())),
    )


def squared_cdf(squares: Float[np.ndarray, "*shape"], ratio: float) -> Float[np.ndarray, "*shape"]:
    """Marchenko–Pastur distribution function of squared singular values in units of (long side · variance), 0 to 1.

    `ratio` is short side / long side, 0 to 1. With x = 1 + r − 2√r cos θ, θ from 0 to π over the support, it is
    (2√r sin θ + (1 + r)θ − (1 − r)ψ) / 2πr, tan ψ/2 = (1 + √r)/(1 − √r) · tan θ/2.
    """
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    inside = np.clip(squares.astype(np.float64), low, high)
    return np.asarray(_share(2 * np.arctan2(np.sqrt(inside - low), np.sqrt(high - inside)), ratio))


def squared_quantile(share: Float[np.ndarray, "*shape"], ratio: float) -> Float[np.ndarray, "*shape"]:
    """Squared singular value below which a share of the law lies, in units of (long side · variance)."""
    return np.asarray(_square(_angle(share, ratio), ratio))


def singular_cdf(values: Float[np.ndarray, "*shape"], ratio: float) -> Float[np.ndarray, "*shape"]:
    """Marchenko–Pastur distribution function of singular values in units of √(long side · variance), 0 to 1."""
    return squared_cdf(np.maximum(values, 0) ** 2, ratio)


def singular_quantile(share: Float[np.ndarray, "*shape"], ratio: float) -> Float[np.ndarray, "*shape"]:
    """Singular value below which a share of the law lies, in units of √(long side · variance)."""
    return np.asarray(np.sqrt(squared_quantile(share, ratio)))


def _nonzero(
    singular_values: Float[np.ndarray, "mode"], shape: tuple[int, ...], epsilon: float
) -> Float[np.ndarray, "kept"]:
    """The values that are not zero, smallest first."""
    if len(shape) != 2 or len(singular_values) != min(shape):
        raise ValueError(f"a matrix of shape {shape} has min(shape) singular values, but got {len(singular_values)}")
    if not np.isfinite(singular_values).all():
        raise ValueError("marchenko_pastur needs finite singular values, but got NaN or infinity")
    epsilon = max(epsilon, float(np.finfo(singular_values.dtype).eps))
    values = np.sort(singular_values.astype(np.float64))
    return np.asarray(values[values > values.max(initial=0) * epsilon * max(shape)])


class _Noises(NamedTuple):
    """Unit noise with 0, 1, 2, … rows and columns removed, down to ten values: what a fit to each compares with."""

    kept: Int[np.ndarray, "fit"]
    energy: Float[np.ndarray, "fit"]
    edge: Float[np.ndarray, "fit"]
    scale: Float[np.ndarray, "fit"]


@lru_cache(maxsize=16)
def _noises(short_side: int, long_side: int) -> _Noises:
    """How many values a fit keeps, the mean of the sum of their squares, and edge and scale of the largest value.

    Edge and scale are Johnstone's (2001) with the ½ of Ma (2012): (√n + √m)² and (√n + √m)(1/√n + 1/√m)^⅓ for the
    square of the largest value, n and m less ½ each.

    The sum of the lowest squares has the mean long · (short · M + B). M is the part of the law's first moment below its
    quantile. B, of order 1, is how far the mean spectrum of real Gaussian noise lies from the law: ¼(f(a) + f(b)) −
    1/2π ∫ f/√((b − x)(x − a)), a and b the ends of the law (Bai and Silverstein 2004), at f = min(x, quantile).
    """
    removed = np.arange(short_side - FEWEST + 1)
    short, long = short_side - removed, long_side - removed
    ratio, kept = short / long, (KEPT * short).astype(int)
    theta = _angle(kept / short, ratio)
    quantile = _square(theta, ratio)
    moment = (theta - np.sin(theta) * np.cos(theta)) / np.pi
    middle = (1 + ratio) * theta - 2 * np.sqrt(ratio) * np.sin(theta) + quantile * (np.pi - theta)
    offset = ((1 - np.sqrt(ratio)) ** 2 + quantile) / 4 - middle / (2 * np.pi)
    one, other = np.sqrt(short - 0.5), np.sqrt(long - 0.5)
    return _Noises(kept, long * (short * moment + offset), one + other, np.cbrt(1 / one + 1 / other) / 2)


def _square(
    theta: Float[np.ndarray, "*shape"], ratio: float | Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    # 1 + r − 2√r cos θ, without cancellation where a square matrix has its smallest values.
    return np.asarray((1 - np.sqrt(ratio)) ** 2 + 4 * np.sqrt(ratio) * np.sin(theta / 2) ** 2)


def _share(
    theta: Float[np.ndarray, "*shape"], ratio: float | Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    root = np.sqrt(ratio)
    psi = 2 * np.arctan2((1 + root) * np.sin(theta / 2), (1 - root) * np.cos(theta / 2))
    return np.asarray((2 * root * np.sin(theta) + (1 + ratio) * theta - (1 - ratio) * psi) / (2 * np.pi * ratio))


def _angle(
    share: Float[np.ndarray, "*shape"], ratio: float | Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """The angle below which a share of the law lies, by bisection."""
    low, high = np.zeros_like(share, dtype=np.float64), np.full_like(share, np.pi, dtype=np.float64)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = _share(middle, ratio) < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2)

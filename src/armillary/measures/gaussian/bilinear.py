"""The bilinear form xᵀCy, an attention score before the softmax: its law for Gaussians, on spheres, at random C.

After Wertich, chapter 6, corrected: the mean is μ_xᵀCμ_y + tr(CΣ_yx), the variance has two terms with Σ_yx, and for a
random C the variance of vᵀCw is ‖v‖²‖w‖² times that of an entry, whatever the angle of v and w.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from armillary.measures.gaussian.information import Gaussian, Vector

Square = Float[np.ndarray, "... _ _"]
Three = tuple[Square, Square, Square]
Numbers = Float[np.ndarray, "..."]


class FormMoments(NamedTuple):
    """Mean and variance of xᵀCy."""

    mean: float
    variance: float


class FormShape(NamedTuple):
    """Mean, variance, skewness and excess kurtosis of xᵀCy."""

    mean: float
    variance: float
    skewness: float
    excess_kurtosis: float


class Pooled(NamedTuple):
    """Mean and variance of xᵀCy over pairs whose means differ from place to place, pooled; variance at a place."""

    mean: Numbers
    variance: Numbers
    variance_independent: Numbers


def bilinear_moments(C: Float[np.ndarray, "left right"], law: Gaussian) -> FormMoments:
    """Mean and variance of xᵀCy, x the first coordinates of the law, as many as C has rows, and y the others.

    Mean μ_xᵀCμ_y + tr(CΣ_yx); variance tr(CΣ_yCᵀΣ_x) + tr((CΣ_yx)²) + μ_yᵀCᵀΣ_xCμ_y + μ_xᵀCΣ_yCᵀμ_x
    + 2 μ_xᵀCΣ_yxCμ_y. For x = y, a token with itself, see `self_pair_moments`.
    """
    first = len(C)
    x, y = law.mean[:first], law.mean[first:]
    of_x, of_y, of_yx = law.covariance[:first, :first], law.covariance[first:, first:], law.covariance[first:, :first]
    pooled = pooled_moments(C, (of_x, of_y, of_yx), (np.outer(x, x), np.outer(y, y), np.outer(y, x)))
    return FormMoments(float(pooled.mean), float(pooled.variance))


def pooled_moments(C: Square, covariances: Three, means: Three) -> Pooled:
    """The moments of xᵀCy from Σ_x, Σ_y, Σ_yx and the mean products μ_xμ_xᵀ, μ_yμ_yᵀ, μ_yμ_xᵀ over places.

    Tokens at different places have different means and, taken for stationary, the same covariances; the variance is
    that at a place, averaged over them. `variance_independent` leaves Σ_yx out (equation 6.3). The mean needs no normal
    law, the variance does: it holds products of four.
    """
    of_x, of_y, of_yx = covariances
    mean_x, mean_y, mean_yx = means
    left, right = _turned(C) @ of_x @ C, C @ of_yx
    independent = _dot(left, of_y) + _dot(left, mean_y) + _dot(C @ of_y @ _turned(C), mean_x)
    crossed = _dot(right, _turned(right)) + 2 * _dot(right @ C, _turned(mean_yx))
    return Pooled(_dot(C, _turned(of_yx + mean_yx)), independent + crossed, independent)


def variance_of_means(
    C: Float[np.ndarray, "left right"],
    covariances: Three,
    x: Float[np.ndarray, "place left"],
    y: Float[np.ndarray, "place right"],
) -> Float[np.ndarray, " place"]:
    """The part of the variance at each place that its means add: μ_yᵀCᵀΣ_xCμ_y + μ_xᵀCΣ_yCᵀμ_x + 2 μ_xᵀCΣ_yxCμ_y."""
    of_x, of_y, of_yx = covariances
    left, right = x @ C, y @ C.T
    return np.asarray(np.sum((right @ of_x) * right + 2 * (left @ of_yx) * right, 1) + np.sum((left @ of_y) * left, 1))


def published_mean(C: Float[np.ndarray, "mode mode_"], law: Gaussian) -> float:
    """Equation (6.2) as printed, with tr(CΣ_xy): right where CΣ_yx has the trace of CΣ_xy, as for symmetric Σ_xy."""
    first = len(C)
    return float(law.mean[:first] @ C @ law.mean[first:] + np.trace(C @ law.covariance[:first, first:]))


def self_pair_moments(C: Float[np.ndarray, "mode mode_"], law: Gaussian) -> FormMoments:
    """Mean and variance of xᵀCx: tr(CΣ) + μᵀCμ and 2 tr((SΣ)²) + 4 μᵀSΣSμ, S = (C + Cᵀ)/2."""
    symmetric = (C + C.T) / 2
    turned = symmetric @ law.covariance
    mean = np.trace(turned) + law.mean @ symmetric @ law.mean
    return FormMoments(float(mean), float(2 * np.sum(turned * turned.T) + 4 * law.mean @ turned @ symmetric @ law.mean))


def bilinear_shape(C: Float[np.ndarray, "left right"], law: Gaussian) -> FormShape:
    """Skewness and excess kurtosis of xᵀCy too, from the cumulants of zᵀHz with H = ½[[0, C], [Cᵀ, 0]], z = (x, y).

    κ_r = 2^{r−1} (r − 1)! [tr (HΣ)^r + r μᵀH(ΣH)^{r−1}μ]. For independent, centred x and y with Σ = I the excess is
    6 tr((CᵀC)²)/(tr CᵀC)², 12/n for a square C of random entries: near normal where many singular values count.
    """
    return pooled_shape(C, law.covariance, np.outer(law.mean, law.mean))


def pooled_shape(
    C: Float[np.ndarray, "left right"],
    covariance: Float[np.ndarray, "both both_"],
    means: Float[np.ndarray, "both both_"],
) -> FormShape:
    """The same where means differ from place to place, from the mean of μμᵀ: cumulants at a place, averaged."""
    first, size = len(C), len(covariance)
    form = np.zeros((size, size))
    form[:first, first:], form[first:, :first] = C / 2, C.T / 2
    power, step = np.eye(size), form @ covariance
    cumulants = []
    for order, factor in ((1, 1.0), (2, 2.0), (3, 8.0), (4, 48.0)):
        shift = order * np.sum((power @ form) * means)
        power = power @ step
        cumulants.append(float(factor * (np.trace(power) + shift)))
    mean, variance, third, fourth = cumulants
    return FormShape(mean, variance, third / variance**1.5, fourth / variance**2)


def sphere_moments(C: Float[np.ndarray, "mode mode_"], lengths: tuple[float, float], cosine: float) -> FormMoments:
    """Mean and variance of xᵀCy for x and y of these lengths at a fixed cosine k, turned together at random.

    With x = u and y = ku + √(1 − k²) w, u ⊥ w: mean k tr C/n; E (uᵀCu)² = ((tr C)² + tr C² + tr CᵀC)/(n(n + 2)) and
    E (uᵀCw)² = (tr CᵀC/n − E (uᵀCu)²)/(n − 1); the mixed term is 0. k = 1 is a vector with itself.
    """
    n, trace = len(C), float(np.trace(C))
    energy = float(np.sum(C**2))
    same = (trace**2 + float(np.sum(C * C.T)) + energy) / (n * (n + 2))
    across = (energy / n - same) / (n - 1)
    scale = lengths[0] * lengths[1]
    mean = cosine * trace / n
    return FormMoments(scale * mean, scale**2 * (cosine**2 * same + (1 - cosine**2) * across - mean**2))


def random_form_covariance(pair: tuple[Vector, Vector], other: tuple[Vector, Vector], variance: float) -> float:
    """Cov(vᵀCw, v′ᵀCw′) = σ² ⟨v, v′⟩⟨w, w′⟩ over matrices C of independent centred entries of variance σ².

    With itself it is σ² ‖v‖²‖w‖²: the angle of v and w leaves no trace in the variance of their score.
    """
    return float(variance * (pair[0] @ other[0]) * (pair[1] @ other[1]))


def published_random_variance(n: int, cosine: float) -> float:
    """Equation (6.47) as printed, k²/n + (n − 1)/n², for unit vectors and entries of variance 1/n; it is 1/n."""
    return cosine**2 / n + (n - 1) / n**2


def random_trace_moments(entries: int, variance: float) -> FormShape:
    """Tr(AᵀB) of two independent matrices of N normal entries each: 0, Nσ⁴, skewness 0, excess kurtosis 6/N."""
    return FormShape(0.0, entries * variance**2, 0.0, 6 / entries)


def energy_moments(entries: int, variance: float) -> FormMoments:
    """‖A‖² of N normal entries: Nσ² and 2Nσ⁴."""
    return FormMoments(entries * variance, 2 * entries * variance**2)


def turned_trace_variance(first: Vector, second: Vector) -> float:
    """Variance of Tr(AᵀB) for given singular values and independent random rotations: Σa² Σb²/n², mean 0.

    Only the two energies count: how the spectra are ordered does not.
    """
    return float(np.sum(first**2) * np.sum(second**2) / len(first) ** 2)


def published_trace_variance(first: Vector, second: Vector) -> float:
    """Equation (6.34) as printed: Σ a²b²/n."""
    return float(np.sum(first**2 * second**2) / len(first))


def _turned(matrix: Square) -> Square:
    return np.swapaxes(matrix, -1, -2)


def _dot(left: Square, right: Square) -> Numbers:
    """Σ_ij A_ij B_ij, the trace of AᵀB."""
    return np.asarray(np.sum(left * right, axis=(-2, -1)))

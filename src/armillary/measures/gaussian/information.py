"""Entropy, divergence and mutual information of Gaussians, in nats: closed forms, and Monte Carlo where there is none.

After Wertich, sections 2.2 and 4.2. The cross-entropy there is too large by d/2, so that KL(p‖p) would not be 0.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_triangular

Vector = Float[np.ndarray, " mode"]
Matrix = Float[np.ndarray, "mode mode_"]


class Gaussian(NamedTuple):
    """A normal law by its mean and covariance."""

    mean: Vector
    covariance: Matrix


class Estimate(NamedTuple):
    """An estimated number and its standard error."""

    value: float
    se: float


def log_determinant(covariance: Matrix) -> float:
    """log |Σ| of a positive definite covariance; any other is refused with its rank."""
    return float(2 * np.sum(np.log(np.diagonal(root(covariance)))))


def root(covariance: Matrix) -> Matrix:
    """The lower triangular L with LLᵀ = Σ; a covariance that is not positive definite is refused with its rank."""
    variances = np.linalg.eigvalsh(covariance.astype(np.float64, copy=False))
    size, rank = len(variances), positive_rank(variances)
    if rank < size:
        raise ValueError(
            f"expected a positive definite covariance, got one of rank {rank} in {size} dimensions: project to its "
            f"{rank} leading directions, or estimate it from more than {size} samples that differ"
        )
    return np.linalg.cholesky(covariance.astype(np.float64, copy=False))


def positive_rank(variances: Vector) -> int:
    """How many variances pass rounding, which is their number times ε of the largest."""
    floor = len(variances) * np.finfo(np.float64).eps * max(float(np.max(variances, initial=0.0)), 0.0)
    return int(np.sum(variances > floor))


def gaussian_entropy(covariance: Matrix) -> float:
    """½ log((2πe)^d |Σ|)."""
    return (len(covariance) * np.log(2 * np.pi * np.e) + log_determinant(covariance)) / 2


def cross_entropy(p: Gaussian, q: Gaussian) -> float:
    """−E_p log q = ½ [log((2π)^d |Σ_q|) + tr(Σ_q⁻¹ Σ_p) + (μ_p − μ_q)ᵀ Σ_q⁻¹ (μ_p − μ_q)]."""
    shift = p.mean - q.mean
    quadratic = np.trace(np.linalg.solve(q.covariance, p.covariance)) + shift @ np.linalg.solve(q.covariance, shift)
    return float((len(shift) * np.log(2 * np.pi) + log_determinant(q.covariance) + quadratic) / 2)


def published_cross_entropy(p: Gaussian, q: Gaussian) -> float:
    """The cross-entropy with (2πe)^d in place of (2π)^d, as printed in section 2.2: too large by d/2."""
    return cross_entropy(p, q) + len(p.mean) / 2


def kl_divergence(p: Gaussian, q: Gaussian) -> float:
    """KL(p‖q) = cross-entropy − entropy: 0 where p = q, and unchanged by an invertible map of both.

    From the eigenvalues λ of Σ_q⁻¹ Σ_p: ½ Σ (λ − 1 − log λ) and the shift of the means, without cancellation.
    """
    scale = root(q.covariance)
    white = solve_triangular(scale, solve_triangular(scale, p.covariance, lower=True).T, lower=True)
    excess = np.linalg.eigvalsh((white + white.T) / 2 - np.eye(len(white)))
    shift = solve_triangular(scale, p.mean - q.mean, lower=True)
    return float((np.sum(excess - np.log1p(excess)) + shift @ shift) / 2)


def canonical_correlations(covariance: Matrix, first: int) -> Float[np.ndarray, " pair"]:
    """Correlations, largest first, between the first `first` coordinates and the others, both made white."""
    left, right = root(covariance[:first, :first]), root(covariance[first:, first:])
    half = solve_triangular(left, covariance[:first, first:], lower=True)
    return np.linalg.svd(solve_triangular(right, half.T, lower=True), compute_uv=False)


def mutual_information(covariance: Matrix, first: int) -> float:
    """½ log(|Σ_x| |Σ_y| / |Σ|), x the first `first` coordinates and y the others; −½ Σ log(1 − ρ²) by correlation."""
    inside = log_determinant(covariance[:first, :first]) + log_determinant(covariance[first:, first:])
    return (inside - log_determinant(covariance)) / 2


def jensen_shannon(p: Gaussian, q: Gaussian, draws: int = 10_000, seed: int = 0) -> Estimate:
    """½ KL(p‖m) + ½ KL(q‖m) with m = (p + q)/2, by Monte Carlo with its standard error; from 0 to log 2.

    The mixture m is no Gaussian, so there is no closed form. Half of the draws are from each law.
    """
    rng = np.random.default_rng(seed)
    each = max(draws // 2, 2)
    terms = []
    for law, other in ((p, q), (q, p)):
        points = law.mean + rng.standard_normal((each, len(law.mean))) @ root(law.covariance).T
        gap = log_density(points, other) - log_density(points, law)
        terms.append(np.log(2) - np.logaddexp(0, gap))
    value = sum(float(term.mean()) for term in terms) / 2
    return Estimate(value, float(np.sqrt(sum(term.var(ddof=1) / each for term in terms)) / 2))


def log_density(points: Float[np.ndarray, "sample mode"], law: Gaussian) -> Float[np.ndarray, " sample"]:
    """log of the normal density at each point."""
    white = solve_triangular(root(law.covariance), (points - law.mean).T, lower=True)
    constant = len(law.mean) * np.log(2 * np.pi) + log_determinant(law.covariance)
    return np.asarray(-(np.sum(white**2, axis=0) + constant) / 2)

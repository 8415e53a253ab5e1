"""Formulas of Wertich's text as printed, where no other file has them: each says what is right in its place."""

import numpy as np
from jaxtyping import Float

Vector = Float[np.ndarray, " mode"]
Matrix = Float[np.ndarray, "mode mode_"]
Shares = Float[np.ndarray, " token"]
Times = Float[np.ndarray, " time"]


def published_ellipsoid_volume(ball: float, covariance: Matrix) -> float:
    """Section 2.1: the ball's volume times Π 1/σ_i, the inverse of what it is; σ_i² the variances."""
    return float(ball / np.sqrt(np.linalg.det(covariance)))


def orthogonal_rebuild(matrix: Matrix) -> Matrix:
    """Section 2.1: Q Λ Qᵀ from the unit eigenvectors, real part; the matrix itself only if it is normal."""
    values, vectors = np.linalg.eig(matrix)
    return np.asarray((vectors * values @ vectors.conj().T).real)


def published_singular_values(eigenvalues: Vector) -> Vector:
    """Section 2.1: √|λ|, largest first; the singular values of a normal matrix are |λ|."""
    return np.sort(np.sqrt(np.abs(eigenvalues)))[::-1]


def published_mean_length(size: int, deviation: float) -> float:
    """Section 2.5: nσ² for E‖Av‖, v of length 1; that is E‖Av‖²."""
    return size * deviation**2


def published_second_moment(
    vectors: Float[np.ndarray, "token d_model"], shares: Shares
) -> Float[np.ndarray, "d_model d_model_"]:
    """Section 4.3: Σ λ² v vᵀ; a token of probability λ counts with λ."""
    return (vectors.T * shares**2) @ vectors


def published_slerp(first: Vector, second: Vector, times: Times) -> Float[np.ndarray, "time mode"]:
    """Section 5.2.3: sin((t − 1)θ)/sin θ · v + sin(tθ)/sin θ · w, which begins at −v."""
    cosine = float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))
    angle = float(np.arccos(np.clip(cosine, -1, 1)))
    weights = np.sin(np.stack([(times - 1) * angle, times * angle], axis=1)) / np.sin(angle)
    return np.asarray(weights @ np.stack([first, second]))


def wave(cosine: float, sine: float, angles: Times) -> Times:
    """w cos x − v sin x as √(w² + v²) cos(x + φ), φ = atan2(v, w); `cosine` is w and `sine` is v."""
    return np.asarray(np.hypot(cosine, sine) * np.cos(angles + np.arctan2(sine, cosine)))


def published_wave(cosine: float, sine: float, angles: Times) -> Times:
    """Equation (5.14): φ = arctan(−v/w), of the wrong sign, and for w < 0 also off by π."""
    return np.asarray(np.hypot(cosine, sine) * np.cos(angles + np.arctan(-sine / cosine)))


def exponential_split(parts: Vector) -> float:
    """Σ exp(a_i) − (n − 1) + Σ_{i<j} a_i a_j ≈ exp(Σ a_i), to third order in a."""
    pairs = (parts.sum() ** 2 - np.sum(parts**2)) / 2
    return float(np.exp(parts).sum() - (len(parts) - 1) + pairs)


def published_exponential_split(parts: Vector) -> float:
    """Section 5.3.2: the same with + (n − 1)."""
    return exponential_split(parts) + 2 * (len(parts) - 1)


def log_normal_series(size: int) -> tuple[float, float]:
    """1 + 1/2n + 1/8n² and 1/n + 3/2n²: mean and variance of exp x, x ~ N(0, 1/n), to second order in 1/n."""
    return 1 + 1 / (2 * size) + 1 / (8 * size**2), 1 / size + 3 / (2 * size**2)


def published_pair_bound(size: int) -> float:
    """Section 5.3.2: n(n − 1)/2 · n⁻⁴ for Σ_{i<j} (λ_i λ_j)², Σλ = 1: its value at equal λ, not its largest."""
    return size * (size - 1) / 2 / size**4


PAIR_BOUND = 1 / 16
"""The largest Σ_{i<j} (λ_i λ_j)² over λ ≥ 0 with Σλ = 1: two halves."""


def published_sphere_covariance(length: float, size: int) -> float:
    """Equation (6.36): −l²/(n(n − 1)) between two coordinates of a random vector of length l; it is 0."""
    return -(length**2) / (size * (size - 1))


def coordinate_product_variance(size: int, cosine: float) -> float:
    """Σ_l Var(v_l w_l) of unit vectors at a fixed cosine k in uniform orientation: (1 + 2k²)/(n + 2) − k²/n."""
    return (1 + 2 * cosine**2) / (size + 2) - cosine**2 / size


def published_score_bound(norms: float, cosine: Float[np.ndarray, " sample"]) -> Float[np.ndarray, " sample"]:
    """Section 6.3.3: ‖W_q‖ ‖W_k‖ |x||y| |cos(x, y)| for |⟨W_q x, W_k y⟩|; right without the cosine."""
    return norms * np.abs(cosine)


def rank_one_stand_in(pattern: Float[np.ndarray, "query key"], vector: Float[np.ndarray, " key"]) -> np.ndarray:
    """P w wᵀ/|w|²: a matrix of rank 1 that does to one vector w what P does, whatever P is (section 7.2.1)."""
    return np.outer(pattern @ vector, vector) / float(vector @ vector)


def mixture_covariance(
    covariances: Float[np.ndarray, "token mode mode_"], of_means: Matrix, shares: Shares
) -> Float[np.ndarray, "mode mode_"]:
    """Σ λ_i Σ_ii + Cov(means): of a token drawn with these probabilities, not of the weighted sum of all (7.1.1)."""
    return np.tensordot(shares, covariances, 1) + of_means

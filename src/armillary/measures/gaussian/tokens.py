"""The law of a token that is one of k likely ones: its covariance, and the spectrum from probabilities and angles.

After Wertich, section 4.3, where the probabilities are squared: a token of probability λ counts with weight λ, so the
Gram matrix with the same non-zero eigenvalues as the second moment Σ λ v vᵀ is √(λ_i λ_j) α_ij, of trace 1.
"""

import numpy as np
from jaxtyping import Float

from armillary.measures.gaussian.information import Gaussian

Shares = Float[np.ndarray, " token"]
Angles = Float[np.ndarray, "token token_"]
Vectors = Float[np.ndarray, "token d_model"]


def token_law(vectors: Vectors, shares: Shares) -> Gaussian:
    """Mean Σ λ v and covariance Σ λ v vᵀ − μ μᵀ of one of these vectors, drawn with these probabilities.

    The covariance has rank k − 1 at most: a Gaussian of it has no density in more directions.
    """
    mean = shares @ vectors
    centred = vectors - mean
    return Gaussian(mean, (centred.T * shares) @ centred)


def token_gram(shares: Shares, angles: Angles) -> Angles:
    """√(λ_i λ_j) α_ij, α the inner products of the vectors: its eigenvalues are those of Σ λ v vᵀ, trace Σ λ α_ii."""
    root = np.sqrt(shares)
    return np.asarray(root[:, None] * angles * root)


def centred_token_gram(shares: Shares, angles: Angles) -> Angles:
    """The same about the mean: its eigenvalues are those of the covariance, one of them 0."""
    rows = angles - shares @ angles
    return token_gram(shares, rows - (rows @ shares)[:, None])


def published_token_gram(shares: Shares, angles: Angles) -> Angles:
    """λ_i λ_j α_ij as printed in section 4.3.1, the Gram of Σ λ² v vᵀ, which is no moment of the token."""
    return np.asarray(shares[:, None] * angles * shares)


def pair_spectrum(first: float, second: float, product: float) -> tuple[float, float]:
    """Eigenvalues, larger first, of [[a, c], [c, b]]; for equal weights λ and angle α they are λ(1 ± α)."""
    middle, reach = (first + second) / 2, float(np.hypot((first - second) / 2, product))
    return middle + reach, middle - reach


def spectral_energy(shares: Shares, angles: Angles) -> float:
    """Σ λ_i λ_j α_ij², the sum of the squared eigenvalues: at fixed trace, larger where angles are smaller."""
    return float(np.sum(token_gram(shares, angles) ** 2))

"""Moments of quadratic forms (Lemma 3 of Bao et al.) and of products of scores along a random walk (Lemma 4, (22))."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Square = Float[np.ndarray, "d_model d_model_"]
Vector = Float[np.ndarray, " d_model"]


class QuadraticMoments(NamedTuple):
    """E xᵀWx, E xxᵀ, E[aᵀWx xᵀWx] and E (xᵀWx)², x ~ N(m, Σ): equations (11) to (14)."""

    form: float
    outer: Square
    mixed: float
    square: float


class ScoreProducts(NamedTuple):
    """Along a walk, i ≤ j ≤ T: (15) E x_iᵀWx_i, (16) its square, (17) E (x_iᵀWx_j)², (18) E x_iᵀWx_j x_jᵀWx_j, (22).

    (22) is E x_iᵀWx_T x_jᵀWx_T, the product of two scores of the last token.
    """

    own: float
    own_square: float
    pair_square: float
    pair_own: float
    scores: float


def quadratic_moments(W: Square, covariance: Square, mean: Vector, other: Vector) -> QuadraticMoments:
    """Moments of xᵀWx, in the units of W and x; W symmetric, `other` is the fixed vector a of (13)."""
    product = W @ covariance
    trace, square = float(np.trace(product)), float(np.sum(product * product.T))
    at_mean = float(mean @ W @ mean)
    through = W @ covariance @ W
    return QuadraticMoments(
        form=trace + at_mean,
        outer=covariance + np.outer(mean, mean),
        mixed=float(2 * other @ through @ mean + other @ W @ mean * (trace + at_mean)),
        square=float(2 * square + trace**2 + 4 * mean @ through @ mean + 2 * trace * at_mean + at_mean**2),
    )


def product_of_four(covariance: Float[np.ndarray, "*case 4 4"]) -> Float[np.ndarray, "*case"]:
    """E abcd of four centred jointly normal numbers, σ_abσ_cd + σ_acσ_bd + σ_adσ_bc (Isserlis)."""
    pairs = (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2)))
    return np.asarray(sum(covariance[..., *one] * covariance[..., *other] for one, other in pairs))


def score_products(trace: float, trace_square: float, i: int, j: int, length: int) -> ScoreProducts:
    """The products for x₁ ~ N(0, Σ), where E x_i x_jᵀ = min(i, j) Σ; from tr WΣ and tr (WΣ)², W symmetric."""
    return ScoreProducts(
        own=i * trace,
        own_square=i**2 * (2 * trace_square + trace**2),
        pair_square=(i * j + i**2) * trace_square + i**2 * trace**2,
        pair_own=i * j * (2 * trace_square + trace**2),
        scores=(length * i + i * j) * trace_square + i * j * trace**2,
    )


def score_products_published(trace: float, trace_square: float, i: int, j: int, length: int) -> ScoreProducts:
    """Lemma 4 and (22) as published; of the same leading order in i, j and T."""
    both = 2 * trace_square + trace**2
    corner = i * j - i - j + 2
    return ScoreProducts(
        own=(i - 1) * trace,
        own_square=(i**2 - 2 * i + 2) * both,
        pair_square=(i**2 + i * j - 3 * i - j + 4) * trace_square + (i**2 - 2 * i + 2) * trace**2,
        pair_own=corner * both,
        scores=(i * j + (length - 2) * i - j - (length - 4)) * trace_square + corner * trace**2,
    )


def mean_score_share(trace: float, trace_square: float, i: int, length: int) -> float:
    """Root mean square of the mean score over that of the i-th score: what γ^i adds to a selector of token i.

    ⟨γ^i, ω⟩ = (ω_i − mean ω)/T, and the mean of T scores is as large as any one of them.
    """
    index = np.arange(1, length + 1)
    low, high = np.minimum.outer(index, index), np.maximum.outer(index, index)
    products = (length * low + low * high) * trace_square + low * high * trace**2
    return float(np.sqrt(products.mean() / products[i - 1, i - 1]))

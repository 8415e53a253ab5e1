"""Square matrices of independent N(0, σ²) entries: lengths, singular values, traces, in closed form for large n."""

import numpy as np
from scipy.special import gammaln


def mean_length(size: int, deviation: float = 1.0) -> float:
    """E‖Av‖ = σ √2 Γ((n + 1)/2)/Γ(n/2), v of length 1: the mean of a χ law, about σ√n."""
    return float(deviation * np.sqrt(2) * np.exp(gammaln((size + 1) / 2) - gammaln(size / 2)))


def mean_singular_value(size: int, deviation: float) -> float:
    """8/(3π) √n σ: the mean of the quarter-circle law, for square and for symmetric matrices alike."""
    return float(8 / (3 * np.pi) * np.sqrt(size) * deviation)


def largest_square(size: int, deviation: float) -> float:
    """4nσ²: where the squared singular values end as n grows; at finite n the largest is about 3 n^{1/3} σ² less."""
    return 4 * size * deviation**2


def largest_singular_value(rows: int, columns: int, deviation: float) -> float:
    """(√n + √m)σ, the edge of the Marchenko–Pastur law of an n × m matrix."""
    return float((np.sqrt(rows) + np.sqrt(columns)) * deviation)


def smallest_gap(size: int, deviation: float) -> float:
    """√π σ/n: mean of the smallest gap between neighbouring singular values, as n grows.

    Locally they repel as eigenvalues of a real symmetric matrix: a gap of s mean spacings has the density π²s/6. With
    the quarter-circle density n²x²/4σ² gaps are below x on average, and the smallest has the law exp(−n²x²/4σ²).
    """
    return float(np.sqrt(np.pi) * deviation / size)


def matched_trace(size: int, deviation: float) -> float:
    """E Tr(AᵀB) where U_AᵀU_B = V_AᵀV_B: tr D_A tr D_B/n = (8/3π)² n²σ²."""
    return mean_singular_value(size, deviation) ** 2 * size


def largest_trace(size: int, deviation: float) -> float:
    """¾ n²σ²: the largest Tr(AᵀB) over all left factors, ‖BAᵀ‖_*, a half moment of the Fuss–Catalan law."""
    return 0.75 * size**2 * deviation**2


def product_edge() -> float:
    """√(27/4): the largest singular value of the product of two matrices of variance 1/n, as n grows."""
    return float(np.sqrt(27 / 4))


def expected_excess(size: int) -> float:
    """12/n: excess kurtosis of xᵀCy, x and y standard normal, for a random square C."""
    return 12 / size

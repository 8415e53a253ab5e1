"""Chapter 5 of Wertich, last part: ratios of softmax shares, and linear combinations of vectors in them."""

import numpy as np

from armillary.measures.gaussian.bilinear import bilinear_shape
from armillary.measures.gaussian.information import Gaussian
from armillary.measures.gaussian.published import (
    PAIR_BOUND,
    exponential_split,
    published_exponential_split,
    published_pair_bound,
)
from armillary.measures.gaussian.softmax import published_ratio_mean, ratio_moments
from armillary.measures.localization.softmax import softmax
from armillary.verdicts.claim import Finding, claim, claims_among
from armillary.verdicts.deciding import all_of, compared, inequality, mean_and_error, simulated, variance_and_error
from armillary.verdicts.wertich_softmax import units


@claim(
    "WE-5.20",
    "Equation (5.20)",
    "E[p_i/p_j] = exp((μ_i − μ_j + w)/2), w = σ_i² + σ_j² − 2σ_ij",
    "exp(μ_i − μ_j + w/2)",
    "p_i/p_j = exp(x_i − x_j) is log-normal.",
    ("WE-5.1-LN",),
)
def ratio(rng: np.random.Generator) -> Finding:
    """Mean ratio, μ_i − μ_j = 0.5, w = 1."""
    scores = np.array([0.5, 0.0]) + rng.standard_normal((100_000, 2)) * np.sqrt(0.5)
    shares = softmax(np.concatenate([scores, rng.standard_normal((100_000, 3))], axis=1))
    exact = ratio_moments(0.5, (0.5, 0.5)).mean
    return simulated(*mean_and_error(shares[:, 0] / shares[:, 1]), exact, published_ratio_mean(0.5, (0.5, 0.5)))


@claim(
    "WE-5.21",
    "Equation (5.21)",
    "Var(p_i/p_j) = (e^w − 1) exp(2(μ_i − μ_j) + w)",
    "holds",
    "The variance of a log-normal law.",
    ("WE-5.1-LN",),
)
def ratio_variance(rng: np.random.Generator) -> Finding:
    """Variance of the ratio, μ_i − μ_j = 0.2, w = 0.2."""
    scores = np.array([0.2, 0.0]) + rng.standard_normal((100_000, 2)) * np.sqrt(0.1)
    shares = softmax(scores)
    return simulated(*variance_and_error(shares[:, 0] / shares[:, 1]), ratio_moments(0.2, (0.1, 0.1)).variance)


@claim(
    "WE-5.3-L",
    "Section 5.3",
    "on a sphere of radius l coordinates have variance l/n, and σ_ij = ρ/(σ_iσ_j)",
    "l²/n, and ρσ_iσ_j",
    "Σ x_i² = l².",
    ("WE-5.20",),
)
def on_sphere(rng: np.random.Generator) -> Finding:
    """E[p_i/p_j] on a sphere of radius 3, n = 64; 0.005 allowed for coordinates that are not quite normal."""
    vectors = 3 * units(rng, 20_000, 64)
    ratios = np.exp(vectors[:, :32] - vectors[:, 32:]).mean(axis=1)
    mean, error = mean_and_error(ratios)
    right, printed = (float(ratio_moments(0.0, (v, v)).mean) for v in (9 / 64, 3 / 64))
    return compared(float(mean), 5 * float(error) + 0.005, right, printed, se=float(error))


@claim(
    "WE-5.3.2-SHIFT",
    "Section 5.3.2",
    "exp Σλ_iv_i ≈ (n − 1) + Σ exp(λ_iv_i) + Σ_{i<j} λ_iλ_jv_iv_j",
    "−(n − 1) + ...",
    "Each exp(a_i) holds a 1, and exp Σa_i holds one.",
)
def shift(rng: np.random.Generator) -> Finding:
    """Exp of the sum of six small numbers."""
    parts = rng.uniform(0.005, 0.03, 6)
    return compared(float(np.exp(parts.sum())), 1e-3, exponential_split(parts), published_exponential_split(parts))


@claim(
    "WE-5.3.2-JENSEN",
    "Section 5.3.2",
    "Σ_{i<j} (λ_iλ_j)² ≤ n(n − 1)/2 · n⁻⁴ for Σλ = 1",
    "≤ 1/16, attained by two halves",
    "Jensen gives the value at equal weights as the least, not the largest. The noise bound made of it fails for "
    "concentrated attention.",
)
def pairs(rng: np.random.Generator) -> Finding:
    """Largest left side over right side, two halves and 2000 draws, n = 8; at most 1."""
    halves = np.zeros((1, 8))
    halves[0, :2] = 0.5
    weights = np.concatenate([halves, rng.dirichlet(np.ones(8), 2000)])
    squares = weights**2
    sums = (squares.sum(axis=1) ** 2 - np.sum(squares**2, axis=1)) / 2
    return inequality(sums / PAIR_BOUND, sums / published_pair_bound(8))


@claim(
    "WE-5.3.2-CHI",
    "Section 5.3.2",
    "the product of two normals is χ²",
    "it is symmetric about 0; Var(v_iv_j) = σ_i²σ_j² is right",
    "Half of the products are negative.",
)
def product_of_normals(rng: np.random.Generator) -> Finding:
    """Share of negative products; of a χ² law 0."""
    products = np.prod(rng.standard_normal((2, 40_000)) * np.array([[0.5], [2.0]]), axis=0)
    law = bilinear_shape(np.eye(1), Gaussian(np.zeros(2), np.diag([0.25, 4.0])))
    spread = simulated(*mean_and_error(products**2), law.variance)
    third = simulated(*mean_and_error(products**3), law.skewness * law.variance**1.5)
    return all_of(simulated(*mean_and_error((products < 0).astype(float)), 0.5, 0.0), spread, third)


CLAIMS = claims_among(globals())

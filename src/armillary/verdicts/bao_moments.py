"""Lemmas 1, 3 and 4 of Bao et al.: moments of scores along a random walk, and the exact law behind them."""

import numpy as np

from armillary.measures.localization.law import published_rho, symmetric_shares
from armillary.measures.localization.products import quadratic_moments, score_products, score_products_published
from armillary.measures.localization.simulation import walk_scores
from armillary.measures.localization.softmax import tangent
from armillary.measures.localization.walk import moments, published_moments
from armillary.verdicts.claim import EXACT, FALSE, Finding, claim, claims_among
from armillary.verdicts.deciding import all_of, computed, mean_and_error, simulated, vanishing, variance_and_error

EIGENVALUES = np.array([0.9, 0.5, 0.3, -0.2, 0.1])
"""Of the symmetric W in these checks; Σ = I and the temperature is counted in."""


@claim(
    "BAO-L3",
    "Lemma 3, (11) to (14)",
    "E xᵀWx, E xxᵀ, E[aᵀWx xᵀWx] and E(xᵀWx)² for x ~ N(m, Σ)",
    "holds",
    "Isserlis' theorem.",
)
def quadratic_forms(rng: np.random.Generator) -> Finding:
    """E (xᵀWx)², d = 4."""
    fixed = np.random.default_rng(2)
    factor, half = fixed.standard_normal((2, 4, 4)) / 2
    W, covariance = half + half.T, factor @ factor.T + np.eye(4) / 2
    mean, other = fixed.standard_normal((2, 4))
    states = mean + rng.standard_normal((120_000, 4)) @ np.linalg.cholesky(covariance).T
    forms = np.einsum("na,ab,nb->n", states, W, states)
    exact = quadratic_moments(W, covariance, mean, other)
    columns = np.stack([forms**2, forms, states @ W @ other * forms], axis=1)
    outer = np.einsum("na,nb->nab", states, states)
    return all_of(
        simulated(*mean_and_error(columns), np.array([exact.square, exact.form, exact.mixed])),
        simulated(*mean_and_error(outer), exact.outer),
    )


@claim(
    "BAO-L4",
    "Lemma 4, (15) to (18), and (22)",
    "E x_iᵀWx_i = (i − 1) tr W, E(x_iᵀWx_i)² = (i² − 2i + 2)(2 tr W² + tr² W), ...",
    "i tr W; i²(2 tr W² + tr² W); (ij + i²) tr W² + i² tr² W; ij(2 tr W² + tr² W); (Ti + ij) tr W² + ij tr² W",
    "x₁ ~ N(0, Σ) gives E x_i x_jᵀ = min(i, j) Σ. For x₁ = 0 the published ones contradict each other. Their leading "
    "orders are right, so the mean of Lemma 1 survives.",
)
def products(rng: np.random.Generator) -> Finding:
    """One of the five moments at i = 3, j = 5, T = 7, d = 5."""
    i, j, length = 3, 5, 7
    walks = rng.standard_normal((60_000, length, len(EIGENVALUES))).cumsum(axis=1)
    weighted = walks * EIGENVALUES
    own, pair = np.sum(weighted[:, i - 1] * walks[:, i - 1], 1), np.sum(weighted[:, i - 1] * walks[:, j - 1], 1)
    other, last = np.sum(weighted[:, j - 1] * walks[:, j - 1], 1), weighted[:, -1]
    scores = np.sum(walks[:, i - 1] * last, 1) * np.sum(walks[:, j - 1] * last, 1)
    columns = np.stack([own, own**2, pair**2, pair * other, scores], axis=1)
    traces = float(EIGENVALUES.sum()), float(np.sum(EIGENVALUES**2))
    exact, published = (made(*traces, i, j, length) for made in (score_products, score_products_published))
    return simulated(*mean_and_error(columns), np.array(exact), np.array(published))


@claim(
    "BAO-L1-MEAN",
    "Lemma 1, mean",
    "μ^i = (i/T − ½) tr W/λ + o(1)",
    "μ_i = u_i tr W/λ + 1/T, u_i = (2i − T − 1)/2T, exact for every T",
    "E ω_i = i tr W/λ; the published mean lacks 1/T − tr W/2Tλ.",
    ("BAO-L4",),
)
def mean(rng: np.random.Generator) -> Finding:
    """Power of T by which its error falls."""
    trace, square = float(EIGENVALUES.sum()), float(np.sum(EIGENVALUES**2))
    lengths = [10, 100, 1000]
    errors = [
        float(np.abs(published_moments(trace, square, T).mean - moments(trace, square, square, T).mean).max())
        for T in lengths
    ]
    values = tangent(walk_scores(np.diag(EIGENVALUES), np.eye(5), 40_000, 10, rng))
    exact = simulated(*mean_and_error(values), moments(trace, square, square, 10).mean)
    return vanishing(lengths, errors, -1.0) if exact.verdict == EXACT else exact


@claim(
    "BAO-L1-VAR",
    "Lemma 1, variance",
    "v^i = (2i²/T² + 7/12) tr W²/λ² + o(1)",
    "v_i = (2u_i² + (T² − 1)/12T²) tr W²/λ² = (2θ² − 2θ + 7/12 + ...) tr W²/λ², exact for every T",
    "Cov(ω_i, ω_j) λ² = (T min(i, j) + ij) tr W². In the proof, (B2) = 2 Σ_{j>i} (ij + Ti) is 3T²i − 2Ti² − i³ to "
    "leading order, printed as T²i − 2Ti² − i³. What survives: the variance is proportional to tr W²/λ².",
    ("BAO-L4",),
)
def variance(rng: np.random.Generator) -> Finding:
    """Variance of g where the published one is farthest off, T = 10, d = 5."""
    trace, square = float(EIGENVALUES.sum()), float(np.sum(EIGENVALUES**2))
    values = tangent(walk_scores(np.diag(EIGENVALUES), np.eye(5), 60_000, 10, rng))
    exact, published = moments(trace, square, square, 10), published_moments(trace, square, 10)
    return simulated(*variance_and_error(values), exact.variance, published.variance)


@claim(
    "BAO-L1-EXACTLAW",
    "ours",
    "g_i − 1/T = Σ w_k p_k q_k, (p, q) normal with Var p = c_i, Var q = T, Cov = u_i",
    "holds: ρ_i follows from the spectrum of W alone, by one integral",
    "Characteristic function Π[(1 − itw_k u)² + t²w_k²(u² + κ²)]^{−1/2}, inverted along a steepest path.",
    ("BAO-L1-VAR",),
)
def exact_law(rng: np.random.Generator) -> Finding:
    """The ρ at i = 10 of T = 12, spectrum 0.9, 0.5, 0.3, −0.2, 0.1."""
    values = tangent(walk_scores(np.diag(EIGENVALUES), np.eye(5), 40_000, 12, rng))
    inside = ((values >= 0) & (values <= 1)).astype(float)
    rho = symmetric_shares(EIGENVALUES, 12).rho
    error = np.sqrt(rho * (1 - rho) / len(values))
    return simulated(inside.mean(axis=0), error, rho)


@claim(
    "BAO-SYMM",
    "ours",
    "ρ_i(W) = ρ_{T+1−i}(−W); equation (6) as published does not have this symmetry",
    "holds for the exact law and for (6) with the corrected variance",
    "Reversing the walk about its mean turns u_i into −u_i and leaves the spread alone.",
    ("BAO-L1-EXACTLAW",),
)
def symmetry(rng: np.random.Generator) -> Finding:
    """The ρ at the first of 12 tokens; published and corrected: its mirror image by either law."""
    trace, square = float(EIGENVALUES.sum()), float(np.sum(EIGENVALUES**2))
    here, mirrored = (symmetric_shares(sign * EIGENVALUES, 12).rho for sign in (1, -1))
    broken = published_rho(trace, square, 12) - published_rho(-trace, square, 12)[::-1]
    found = computed(here, mirrored[::-1])
    off = float(np.abs(broken).max())
    lacks = found if off > 0.1 else found._replace(verdict=FALSE)
    return lacks._replace(note=f"Equation (6) as published is off by {off:.2f}.")


CLAIMS = claims_among(globals())

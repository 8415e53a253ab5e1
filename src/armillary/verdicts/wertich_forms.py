"""Chapter 6 of Wertich, first part: the bilinear form of Gaussian vectors and of vectors on spheres."""

import numpy as np
import scipy.linalg

from armillary.measures.gaussian.bilinear import (
    bilinear_moments,
    bilinear_shape,
    published_mean,
    published_random_variance,
    random_form_covariance,
    self_pair_moments,
    sphere_moments,
)
from armillary.measures.gaussian.gaussianity import shape
from armillary.measures.gaussian.information import Gaussian
from armillary.measures.gaussian.published import (
    coordinate_product_variance,
    published_score_bound,
    published_sphere_covariance,
)
from armillary.measures.gaussian.random_matrices import expected_excess, product_edge
from armillary.verdicts.claim import Finding, claim, claims_among
from armillary.verdicts.deciding import (
    all_of,
    compared,
    computed,
    direction,
    inequality,
    mean_and_error,
    simulated,
    variance_and_error,
)
from armillary.verdicts.wertich_basics import haar, random_law, sampled
from armillary.verdicts.wertich_softmax import units

FIXED = np.random.default_rng(16)
LAW, FORM = random_law(FIXED, 8), FIXED.standard_normal((4, 4))
"""A joint Gaussian of two vectors of 4 dimensions, and a matrix between them."""

ENTRY, CROSSED = np.zeros((2, 5, 5))
ENTRY[0, 0] = CROSSED[0, 1] = 1
"""Matrices C for which xᵀCy is x_1y_1 and x_1y_2."""


@claim(
    "WE-6.2",
    "Equation (6.2)",
    "E⟨Ax, By⟩ = μ_xᵀCμ_y + Tr(CΣ_XY), C = AᵀB",
    "Tr(CΣ_YX)",
    "E x_iy_j = Σ_XY,ij meets C_ij, which is the trace with the transpose. The same where Σ_XY is symmetric.",
)
def mean(rng: np.random.Generator) -> Finding:
    """Mean of xᵀCy, 4 + 4 dimensions."""
    values = forms(LAW, rng)
    return simulated(*mean_and_error(values), bilinear_moments(FORM, LAW).mean, published_mean(FORM, LAW))


@claim(
    "WE-6.3",
    "Equation (6.3)",
    "variance of ⟨Ax, By⟩ for Σ_XY = 0",
    "holds; in general two terms with Σ_YX are added: tr((CΣ_YX)²) + 2μ_xᵀCΣ_YXCμ_y",
    "Isserlis' theorem.",
    ("WE-6.2",),
)
def variance(rng: np.random.Generator) -> Finding:
    """Variance of xᵀCy for independent x and y."""
    apart = LAW.covariance.copy()
    apart[:4, 4:] = apart[4:, :4] = 0
    independent = Gaussian(LAW.mean, apart)
    found = simulated(*variance_and_error(forms(independent, rng)), bilinear_moments(FORM, independent).variance)
    return all_of(found, simulated(*variance_and_error(forms(LAW, rng)), bilinear_moments(FORM, LAW).variance))


@claim(
    "WE-6.24-SELF",
    "Section 6.1",
    "E⟨Ax, Bx⟩ = Tr(CΣ) + μᵀCμ",
    "holds; its variance is 2 tr((SΣ)²) + 4μᵀSΣSμ, S = (C + Cᵀ)/2",
    "A quadratic form.",
    ("BAO-L3",),
)
def self_pair(rng: np.random.Generator) -> Finding:
    """Mean of xᵀCx, 4 dimensions."""
    law = Gaussian(LAW.mean[:4], LAW.covariance[:4, :4])
    points = sampled(law, 60_000, rng)
    values = np.einsum("na,ab,nb->n", points, FORM, points)
    exact = self_pair_moments(FORM, law)
    return all_of(
        simulated(*mean_and_error(values), exact.mean), simulated(*variance_and_error(values), exact.variance)
    )


@claim(
    "WE-6.10",
    "Equation (6.10)",
    "Tr(AᵀB) = Σ ⟨a_i, b_i⟩ over columns",
    "holds; a trace of 0 does not make the columns orthogonal in pairs",
    "Terms of both signs cancel: B = A diag(±1).",
)
def trace(rng: np.random.Generator) -> Finding:
    """E xᵀAᵀBx of standard normal x, which is Tr(AᵀB), 6 × 6."""
    A, B = rng.integers(-4, 5, (2, 6, 6)).astype(float)
    columns = float(sum(A[:, i] @ B[:, i] for i in range(6)))
    signs = np.array([1.0, -1, 1, -1, 1, -1])
    turned = haar(rng, 1, 6)[0]
    parallel = float(sum(turned[:, i] @ (turned * signs)[:, i] for i in range(6)))
    points = rng.standard_normal((40_000, 6))
    return all_of(
        simulated(*mean_and_error(np.sum((points @ A.T) * (points @ B.T), axis=1)), columns),
        computed(self_pair_moments(A.T @ B, Gaussian(np.zeros(6), np.eye(6))).mean, columns),
        computed(1 + parallel, 1.0),
    )


@claim(
    "WE-6.11",
    "Equation (6.11)",
    "Tr(CᵀC) = Σ ⟨a_i, b_j⟩² = ‖C‖_F²",
    "holds; ‖a_i‖ are not the squared singular values of A",
    "The Frobenius norm.",
)
def energy(rng: np.random.Generator) -> Finding:
    """Σ of the squared singular values of C, which is Tr(CᵀC), 6 × 6."""
    A, B = rng.standard_normal((2, 6, 6))
    products = float(sum((A[:, i] @ B[:, j]) ** 2 for i in range(6) for j in range(6)))
    spread = bilinear_moments(A.T @ B, Gaussian(np.zeros(12), np.eye(12))).variance
    return all_of(computed(float(np.sum(scipy.linalg.svdvals(A.T @ B) ** 2)), products), computed(spread, products))


@claim(
    "WE-6.24-ORTH",
    "Sections 6.1 and 6.3.1",
    "to raise Tr(CΣ) for diagonal Σ, the columns a_i and b_i need to be mainly orthogonal to each other",
    "parallel: ⟨a_i, b_i⟩ adds to the trace, and orthogonal ones give 0",
    "Tr(CΣ) = Σ σ_i² ⟨a_i, b_i⟩.",
    ("WE-6.10",),
)
def alignment(rng: np.random.Generator) -> Finding:
    """Mean of ⟨Ax, Bx⟩ for orthogonal columns less that for parallel ones; the statement: above 0."""
    A, law = rng.standard_normal((6, 6)), Gaussian(np.zeros(6), np.diag(rng.uniform(0.5, 2, 6)))
    other = rng.standard_normal((6, 6))
    orthogonal = other - A * (np.sum(A * other, axis=0) / np.sum(A**2, axis=0))
    means = [self_pair_moments(A.T @ B, law).mean for B in (orthogonal, A)]
    return direction(means[0] - means[1], 0.0)


@claim(
    "WE-6.35",
    "Equation (6.35)",
    "on a sphere of radius l, E x_i = 0 and Var x_i = l²/n",
    "holds",
    "By symmetry.",
)
def coordinates(rng: np.random.Generator) -> Finding:
    """Variance of a coordinate, l = 2, n = 5."""
    x, _ = pairs_at(rng, 0.0)
    square = sphere_moments(ENTRY, (2.0, 2.0), 1.0)
    return all_of(
        simulated(*mean_and_error(x[:, 0] ** 2), square.mean),
        simulated(*variance_and_error(x[:, 0] ** 2), square.variance),
        simulated(*mean_and_error(x[:, 0]), 0.0),
    )


@claim(
    "WE-6.36",
    "Equation (6.36)",
    "Cov(x_i, x_j) = −l²/(n(n − 1))",
    "0",
    "Turning the sign of one coordinate changes nothing. Σ x_i is not constant on a sphere, Σ x_i² is.",
    ("WE-6.35",),
)
def uncorrelated(rng: np.random.Generator) -> Finding:
    """Covariance of two coordinates, l = 2, n = 5."""
    x, _ = pairs_at(rng, 0.0)
    right = sphere_moments(CROSSED, (2.0, 2.0), 1.0).mean
    return simulated(*mean_and_error(x[:, 0] * x[:, 1]), right, published_sphere_covariance(2.0, 5))


@claim(
    "WE-6.37",
    "Equation (6.37)",
    "Cov(x_i, y_i) = k l₁l₂/n for x, y at cosine k",
    "holds",
    "Σ E x_iy_i = k l₁l₂, alike for every i.",
    ("WE-6.35",),
)
def paired(rng: np.random.Generator) -> Finding:
    """Covariance of x_i and y_i, l₁ = 2, l₂ = 3, k = 0.6, n = 5."""
    x, y = pairs_at(rng, 0.6)
    exact = sphere_moments(ENTRY, (2.0, 3.0), 0.6)
    spread = simulated(*variance_and_error(x[:, 0] * y[:, 0]), exact.variance)
    return all_of(simulated(*mean_and_error(x[:, 0] * y[:, 0]), exact.mean), spread)


@claim(
    "WE-6.38",
    "Equation (6.38)",
    "Cov(x_i, y_j) = 0 for i ≠ j",
    "holds",
    "By symmetry under a change of sign of one coordinate.",
    ("WE-6.37",),
)
def crossed(rng: np.random.Generator) -> Finding:
    """Covariance of x_1 and y_2, k = 0.6, n = 5."""
    x, y = pairs_at(rng, 0.6)
    exact = sphere_moments(CROSSED, (2.0, 3.0), 0.6)
    spread = simulated(*variance_and_error(x[:, 0] * y[:, 1]), exact.variance)
    return all_of(simulated(*mean_and_error(x[:, 0] * y[:, 1]), exact.mean), spread)


@claim(
    "WE-6.45-47",
    "Equations (6.45) to (6.47)",
    "Var(vᵀCw) = k²/n + (n − 1)/n² for unit v, w at cosine k and random C",
    "1/n whatever the angle; in (6.45) Σ Var(v_lw_l) = (1 + 2k²)/(n + 2) − k²/n, not k²",
    "Entries of C are independent: Var = ‖v‖²‖w‖²/n. The angle shows in covariances, Cov(vᵀCw, vᵀCw′) = ⟨w, w′⟩/n.",
)
def random_form(rng: np.random.Generator) -> Finding:
    """Variance of vᵀCw, n = 16, k = 0.9."""
    v = np.eye(16)[0]
    w = 0.9 * v + np.sqrt(1 - 0.81) * np.eye(16)[1]
    products = rng.standard_normal((30_000, 16, 16)).dot(w).dot(v) / 4
    found = simulated(
        *variance_and_error(products),
        random_form_covariance((v, w), (v, w), 1 / 16),
        published_random_variance(16, 0.9),
    )
    x = units(rng, 40_000, 16)
    side = units(rng, 40_000, 16)
    side -= np.sum(side * x, axis=1, keepdims=True) * x
    y = 0.9 * x + np.sqrt(1 - 0.81) * side / np.linalg.norm(side, axis=1, keepdims=True)
    batches = (x * y).reshape(20, -1, 16).var(axis=1).sum(axis=1)
    return all_of(found, simulated(*mean_and_error(batches), coordinate_product_variance(16, 0.9)))


@claim(
    "WE-6.48",
    "Equation (6.48)",
    "Var(E[xᵀCy]) ≈ Σ λ_i²λ_j²(k_ij²/n + (n − 1)/n²)",
    "‖μ_X‖²‖μ_Y‖²/n",
    "E[xᵀCy] = μ_XᵀCμ_Y. Where embeddings are correlated the sum over single tokens misses all cross terms.",
    ("WE-6.45-47",),
)
def mean_form(rng: np.random.Generator) -> Finding:
    """Variance over C of μ_XᵀCμ_Y, 4 correlated tokens, n = 16."""
    fixed = np.random.default_rng(13)
    vectors = fixed.standard_normal((4, 16)) + 1.5 * fixed.standard_normal(16)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    centre = shares @ vectors
    products = rng.standard_normal((30_000, 16, 16)).dot(centre).dot(centre) / 4
    printed = sum(
        (shares[i] * shares[j]) ** 2 * published_random_variance(16, float(vectors[i] @ vectors[j]))
        for i in range(4)
        for j in range(4)
    )
    exact = random_form_covariance((centre, centre), (centre, centre), 1 / 16)
    return simulated(*variance_and_error(products), exact, printed)


@claim(
    "WE-6.3.3",
    "Section 6.3.3",
    "|⟨W_qx, W_ky⟩| ≤ ‖W_q‖‖W_k‖ |x||y| |cos(x, y)|",
    "without the cosine; and ‖W_qᵀW_k‖ of two random matrices is √(27/4) = 2.6, not 4",
    "W_q and W_k turn x and y apart: orthogonal vectors may score anything up to the norm of the product. So mixed "
    "terms of position and content are not suppressed by it.",
)
def score_bound(rng: np.random.Generator) -> Finding:
    """Largest left side over right side of 4000 random pairs, n = 128; at most 1."""
    W_q, W_k = rng.standard_normal((2, 128, 128)) / np.sqrt(128)
    x, y = units(rng, 4000, 128), units(rng, 4000, 128)
    scores = np.abs(np.sum((x @ W_q.T) * (y @ W_k.T), axis=1))
    norms = float(np.linalg.norm(W_q, 2) * np.linalg.norm(W_k, 2))
    printed = published_score_bound(norms, np.sum(x * y, axis=1))
    edge = compared(float(np.linalg.norm(W_q.T @ W_k, 2)), 0.35, product_edge(), norms)
    return all_of(inequality(scores / norms, scores / printed), edge)


@claim(
    "WE-6.4",
    "Section 6.4",
    "x_iy_i and C_ij are χ², and a product of χ² is χ²; so scores are nearly normal",
    "products of normals are symmetric; scores are nearly normal, with excess kurtosis 6 tr((CᵀC)²)/(tr CᵀC)² = 12/n",
    "Given the query, the scores of Gaussian keys are exactly normal.",
    ("WE-5.3.2-CHI",),
)
def nearly_normal(rng: np.random.Generator) -> Finding:
    """Share of negative products x_iy_i; of a χ² law 0."""
    products = np.prod(rng.standard_normal((2, 40_000)), axis=0)
    sign = simulated(*mean_and_error((products < 0).astype(float)), 0.5, 0.0)
    C = np.random.default_rng(14).standard_normal((48, 48))
    exact = bilinear_shape(C, Gaussian(np.zeros(96), np.eye(96))).excess_kurtosis
    x, y = rng.standard_normal((2, 120_000, 48))
    values = np.sum((x @ C) * y, axis=1).reshape(24, -1)
    kurtosis = simulated(*mean_and_error(shape(values).excess_kurtosis + 6 / values.shape[1]), exact)
    return all_of(sign, kurtosis, compared(exact, 0.15, expected_excess(48)))


def forms(law: Gaussian, rng: np.random.Generator) -> np.ndarray:
    """Draws of xᵀCy."""
    points = sampled(law, 60_000, rng)
    return np.asarray(np.einsum("na,ab,nb->n", points[:, :4], FORM, points[:, 4:], optimize=True))


def pairs_at(rng: np.random.Generator, cosine: float) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of lengths 2 and 3 in 5 dimensions at a fixed cosine, in uniform orientation."""
    x, side = units(rng, 60_000, 5), rng.standard_normal((60_000, 5))
    side -= np.sum(side * x, axis=1, keepdims=True) * x
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    return 2 * x, 3 * (cosine * x + np.sqrt(1 - cosine**2) * side)


CLAIMS = claims_among(globals())

"""Chapter 5 of Wertich: the softmax of Gaussian vectors, its entropy, and paths over the sphere."""

import numpy as np
from scipy.special import softmax as reference_softmax
from scipy.stats import beta

from armillary.measures.gaussian.bilinear import sphere_moments
from armillary.measures.gaussian.published import (
    log_normal_series,
    published_slerp,
    published_wave,
    wave,
)
from armillary.measures.gaussian.softmax import (
    cosine_residual,
    entropy_at,
    entropy_deficit,
    entropy_slope,
    log_normal_moments,
    path_curves,
    path_slope,
    published_log_normal_mean,
    score_gradient,
    slerp,
)
from armillary.measures.localization.softmax import entropy, softmax
from armillary.verdicts.claim import EXACT, Finding, claim, claims_among
from armillary.verdicts.deciding import (
    all_of,
    approximate,
    compared,
    computed,
    direction,
    inequality,
    mean_and_error,
    simulated,
    vanishing,
    variance_and_error,
)

TIMES = np.linspace(0, 1, 41)


@claim(
    "WE-5.1-LN",
    "Section 5.1.2",
    "E exp X = exp((μ + σ²)/2), X normal",
    "exp(μ + σ²/2); the variance (e^{σ²} − 1)e^{2μ + σ²} is right",
    "Completing the square.",
)
def log_normal(rng: np.random.Generator) -> Finding:
    """Mean of exp X, μ = 0.5, σ² = 1."""
    values = np.exp(0.5 + rng.standard_normal(100_000))
    exact = log_normal_moments(0.5, 1.0)
    small = np.exp(0.2 + 0.3 * rng.standard_normal(100_000))
    spread = simulated(*variance_and_error(small), log_normal_moments(0.2, 0.09).variance)
    return all_of(simulated(*mean_and_error(values), exact.mean, published_log_normal_mean(0.5, 1.0)), spread)


@claim(
    "WE-5.1/5.2-TAYLOR",
    "Equations (5.1), (5.2)",
    "for σ² = 1/n the mean is 1 + 1/2n + 1/8n² and the variance 1/n + 3/2n², to second order",
    "holds, the error being of order n⁻³; the shorter ‘1 + 1/n’ of the text is not the mean",
    "Series of exp(1/2n) and of (e^{1/n} − 1)e^{1/n}.",
    ("WE-5.1-LN",),
)
def series(rng: np.random.Generator) -> Finding:
    """Power of n by which the error of the mean falls."""
    sizes = [10, 40, 160]
    moments = [log_normal_moments(0.0, 1 / size) for size in sizes]
    printed = [log_normal_series(size) for size in sizes]
    mean, variance = (
        [abs(float(exact[at]) - rough[at]) for exact, rough in zip(moments, printed, strict=True)] for at in (0, 1)
    )
    return all_of(vanishing(sizes, mean, -3.0), vanishing(sizes, variance, -3.0))


@claim(
    "WE-5.2-GRAD",
    "Section 5.2",
    "the gradient of the cross-entropy by the scores is p − q",
    "holds; the diagonal term alone, as in the derivation, gives −q_j(1 − p_j)",
    "All entries of the softmax's Jacobian count.",
)
def gradient(rng: np.random.Generator) -> Finding:
    """Largest entry of the gradient, by differences."""
    target, scores, step = softmax(rng.standard_normal(6)), rng.standard_normal(6), 1e-5
    losses = [-(np.log(softmax(scores + sign * step * np.eye(6))) @ target) for sign in (1, -1)]
    return computed((losses[0] - losses[1]) / (2 * step), score_gradient(target, scores), tolerance=1e-7)


@claim(
    "WE-5.2-ZERO",
    "Section 5.2",
    "the zero vector has no distribution",
    "its softmax is the uniform one",
    "exp 0 = 1.",
)
def zero(rng: np.random.Generator) -> Finding:
    """Sum of the softmax of 5 zeros; no distribution: 0."""
    shares = softmax(np.zeros(5))
    return all_of(computed(float(shares.sum()), 1.0, 0.0), computed(shares, np.full(5, 0.2)))


@claim(
    "WE-5.2-BIJ",
    "Section 5.2",
    "vectors of one sphere and distributions are one-to-one",
    "neither: v and v − 2 mean(v) 1 have one norm and one softmax, and a sphere reaches only part of the distributions",
    "The softmax does not see a constant.",
)
def one_to_one(rng: np.random.Generator) -> Finding:
    """Total variation of the softmax of these two vectors; one-to-one: above 0."""
    vector = rng.standard_normal(7) + 0.5
    other = vector - 2 * vector.mean()
    same_norm = computed(float(np.linalg.norm(other)), float(np.linalg.norm(vector)))
    own = computed(reference_softmax(vector), softmax(vector))
    apart = float(np.linalg.norm(other - vector))
    distance = float(np.abs(softmax(other) - softmax(vector)).sum() / 2)
    return all_of(computed(distance, 0.0, min(apart, 1.0)), same_norm, own)


@claim(
    "WE-5.2-CONVEX",
    "Section 5.2",
    "combinations of distributions with Σλ = 1 are distributions",
    "with λ ≥ 0 too",
    "2p − q may be negative.",
)
def convex(rng: np.random.Generator) -> Finding:
    """Smallest entry of 2p − q; a distribution: not below 0."""
    p, q = softmax(np.array([[0.0, 0.0, 3.0], [0.0, 3.0, 0.0]]))
    return direction(float((2 * p - q).min()), 0.0)


@claim(
    "WE-5.3",
    "Section 5.3",
    "for random unit vectors E⟨v, w⟩ = 0 and Var⟨v, w⟩ = 1/n",
    "holds; the sum of two has E‖v + w‖² = 2, so sums do not preserve length",
    "By symmetry, and Σ E v_i² w_i² + ... = 1/n.",
)
def inner_products(rng: np.random.Generator) -> Finding:
    """Variance of ⟨v, w⟩, n = 64."""
    v, w = units(rng, 20_000, 64), units(rng, 20_000, 64)
    products = np.sum(v * w, axis=1)
    lengths = simulated(*mean_and_error(np.sum((v + w) ** 2, axis=1)), 2.0)
    variance = coordinate_square(64)
    return all_of(
        simulated(*mean_and_error(products**2), variance),
        simulated(*mean_and_error(products), 0.0),
        computed(float(beta(0.5, 63 / 2).mean()), variance),
        lengths,
    )


@claim(
    "WE-5.3-SUM",
    "Section 5.3",
    "linear combinations keep the length: ‖Σ λ_i v_i‖/‖λ‖ = 1",
    "for orthonormal v_i; of random ones only the mean square is 1",
    "Cross terms have mean 0 and variance of order 1/n.",
    ("WE-5.3",),
)
def combinations(rng: np.random.Generator) -> Finding:
    """Standard deviation of ‖v + w‖²/2, n = 64; published 0."""
    squares = np.sum((units(rng, 20_000, 64) + units(rng, 20_000, 64)) ** 2, axis=1) / 2
    variance, error = variance_and_error(squares)
    size = float(np.sqrt(variance))
    return simulated(size, float(error) / (2 * size), np.sqrt(coordinate_square(64)), 0.0)


@claim(
    "WE-5.2-SCALE",
    "Section 5.2.2",
    "softmax(αv) goes to one-hot for α → ∞ and to uniform for α → 0",
    "holds; moreover dH/dα = −α Var_p(v)",
    "p_i/p_j = exp α(v_i − v_j). The slope is never above 0.",
)
def scale(rng: np.random.Generator) -> Finding:
    """Slope of the entropy at α = 1.5, by differences."""
    scores, step = rng.standard_normal(8), 1e-4
    scales = np.array([0.5, 1.5, 3.0])
    measured = (entropy_at(scores, scales + step) - entropy_at(scores, scales - step)) / (2 * step)
    ends = entropy_at(scores, np.array([0.0, 1e6]))
    limits = computed(ends + 1, np.array([np.log(8) + 1, 1.0]), tolerance=1e-6)
    return all_of(computed(measured, entropy_slope(scores, scales), tolerance=1e-6), limits)


@claim(
    "WE-5.2.3-SLERP",
    "Section 5.2.3",
    "SLERP: λ₁ = sin((t − 1)θ)/sin θ, λ₂ = sin(tθ)/sin θ",
    "λ₁ = sin((1 − t)θ)/sin θ; ‖λ‖ = 1 only for θ = 90°",
    "As printed the path begins at −v.",
)
def spherical(rng: np.random.Generator) -> Finding:
    """First coordinate of the path at t = 0, v = (1, 0.2)."""
    first, second = np.array([1.0, 0.2]), np.array([-0.2, 1.0])
    return computed(first, slerp(first, second, np.array([0.0]))[0], published_slerp(first, second, np.array([0.0]))[0])


@claim(
    "WE-5.5",
    "Equation (5.5)",
    "dH/dt = Σ (Sm(w) − Sm(v(t))) dv/dt",
    "Σ (Sm(v(t)) − Sm(w)) dv/dt: the other sign",
    "The gradient by the scores is p − q.",
    ("WE-5.2-GRAD",),
)
def along_path(rng: np.random.Generator) -> Finding:
    """Slope of the cross-entropy at t = 0.3, by differences."""
    v, w = orthonormal(rng, 12)
    at, step = np.array([0.3]), 1e-5
    ends = path_curves(v, w, np.array([0.3 + step, 0.3 - step])).cross_entropy
    slope = path_slope(v, w, at)
    return computed(float(ends[0] - ends[1]) / (2 * step), float(slope[0]), -float(slope[0]), tolerance=1e-6)


@claim(
    "WE-5.14",
    "Equation (5.14)",
    "w cos x − v sin x = √(w² + v²) cos(x + arctan(−v/w))",
    "cos(x + atan2(v, w))",
    "cos φ = w/R and sin φ = v/R: the sign is the other one, and for w < 0 the arctangent is off by π.",
)
def phase(rng: np.random.Generator) -> Finding:
    """W cos x − v sin x for w = 0.4, v = 0.7 where the printed form is farthest off."""
    angles = np.linspace(0, np.pi / 2, 9)
    cases = ((0.4, 0.7), (-0.4, 0.7), (-0.3, -0.2))
    found = [
        computed(w * np.cos(angles) - v * np.sin(angles), wave(w, v, angles), published_wave(w, v, angles))
        for w, v in cases
    ]
    return all_of(*found)


@claim(
    "WE-5.15",
    "Equation (5.15)",
    "0 ≤ cos(arctan(−v/w)) = 1/√((v/w)² + 1) ≤ π/2",
    "holds; the upper bound is 1, sharper than π/2",
    "A cosine.",
)
def cosine_of_phase(rng: np.random.Generator) -> Finding:
    """Largest value over its upper bound π/2 in 1000 draws, at most 1; the cosine itself at Pythagorean triples."""
    ratios = rng.standard_cauchy(1000)
    values = np.cos(np.arctan(-ratios))
    v, w, whole = np.array([[3.0, 4, 5], [-5, 12, 13], [8, -15, 17], [20, 21, 29]]).T
    crest = computed(wave(w[0], v[0], np.array([-np.arctan2(v[0], w[0])])), whole[:1])
    identity = computed(np.cos(np.arctan(-v / w)), np.abs(w) / whole)
    return all_of(inequality(values / (np.pi / 2)), identity, crest, inequality(np.concatenate([values, 1 - values])))


@claim(
    "WE-5.17",
    "Conjecture and (5.17)",
    "along SLERP between orthogonal unit vectors the cross-entropy is a·cos(πt/2 + b) + c",
    "nearly: the residual is about 0.11 l/n of the curve's deviation, l the length",
    "H = log Σ exp v(t) − ⟨Sm(w), v(t)⟩: the second part is a cosine, the first is log n + mean + variance/2 + ..., "
    "and the variance l²/n − mean² is constant up to mean². What is left is −mean²/2 + κ₃/6 and smaller.",
)
def conjecture(rng: np.random.Generator) -> Finding:
    """Residual over the curve's deviation, n = 100, l = 1, median of 40 pairs; at most 0.01 is called close."""
    residuals = curve_residuals(rng, 100, 1.0, "cross_entropy")
    exact = float(np.min(residuals)) > 1e-8
    long = float(np.median(curve_residuals(rng, 100, 8.0, "cross_entropy")))
    found = approximate(float(np.median(residuals)), 0.01, published=0.0, note=f"At l = 8: {long:.3f}.")
    return found if exact else found._replace(verdict=EXACT)


@claim(
    "WE-5.JSD",
    "Section 5.2.3",
    "the Jensen–Shannon divergence along the path is also a cosine",
    "nearly: residual 0.001 at n = 100, l = 1, and 0.017 at l = 8",
    "As for the cross-entropy, to second order in the scores.",
    ("WE-5.17",),
)
def divergence(rng: np.random.Generator) -> Finding:
    """Residual over the curve's deviation, n = 100, l = 1, median of 40 pairs; at most 0.01 is called close."""
    residuals = curve_residuals(rng, 100, 1.0, "jensen_shannon")
    exact = float(np.min(residuals)) > 1e-8
    found = approximate(float(np.median(residuals)), 0.01, published=0.0)
    return found if exact else found._replace(verdict=EXACT)


@claim(
    "WE-5.ENT",
    "Section 5.2",
    "the softmax of a random vector has an entropy of about log n",
    "log n − l²/2n for fixed length l; at LayerNorm's length √n the deficit is 0.5 nats at any n",
    "Second order in the scores: the deficit is half of their variance.",
)
def nearly_uniform(rng: np.random.Generator) -> Finding:
    """Power of n by which the deficit falls, l = 1, n = 50 to 800."""
    sizes = [50, 200, 800]
    deficits = [float(np.mean(np.log(size) - entropy(softmax(units(rng, 300, size))))) for size in sizes]
    theory = compared(
        np.array(deficits) * np.array(sizes), 0.02, np.array([entropy_deficit(n, 1.0) * n for n in sizes])
    )
    wide = float(np.mean(np.log(200) - entropy(softmax(np.sqrt(200) * units(rng, 300, 200)))))
    falls = vanishing(sizes, deficits, -1.0, note=f"At l = √n and n = 200: {wide:.2f} nats.")
    return falls if theory.verdict == EXACT else theory


def units(rng: np.random.Generator, count: int, size: int) -> np.ndarray:
    """Uniform directions."""
    vectors = rng.standard_normal((count, size))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def coordinate_square(size: int) -> float:
    """E v_1² of a random unit vector, which is E⟨v, w⟩² of two."""
    return sphere_moments(np.eye(size)[:, :1] @ np.eye(1, size), (1.0, 1.0), 1.0).mean


def orthonormal(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Two orthogonal unit vectors."""
    frame = np.linalg.qr(rng.standard_normal((size, 2))).Q
    return frame[:, 0], frame[:, 1]


def curve_residuals(rng: np.random.Generator, size: int, length: float, name: str) -> np.ndarray:
    """How far the curves of 40 random orthogonal pairs are from a cosine."""
    found = []
    for _ in range(40):
        v, w = orthonormal(rng, size)
        found.append(cosine_residual(getattr(path_curves(length * v, length * w, TIMES), name), TIMES))
    return np.array(found)


CLAIMS = claims_among(globals())

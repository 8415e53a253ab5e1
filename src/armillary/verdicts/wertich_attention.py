"""Chapter 6 of Wertich on random matrices, and chapters 7 to 9: mixing, low rank, and scaled spectra."""

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist

from armillary.measures.gaussian.bilinear import (
    bilinear_moments,
    energy_moments,
    published_trace_variance,
    random_trace_moments,
    turned_trace_variance,
)
from armillary.measures.gaussian.information import Gaussian, gaussian_entropy, mutual_information
from armillary.measures.gaussian.mixing import mixed_information, mixed_law
from armillary.measures.gaussian.published import mixture_covariance, rank_one_stand_in
from armillary.measures.gaussian.random_matrices import (
    largest_square,
    largest_trace,
    matched_trace,
    mean_length,
    mean_singular_value,
)
from armillary.measures.gaussian.stacks import attention_layer, stack_similarity, token_cosine
from armillary.measures.gaussian.tokens import token_law
from armillary.measures.localization.softmax import softmax
from armillary.verdicts.claim import Finding, claim, claims_among, unchecked
from armillary.verdicts.deciding import (
    all_of,
    compared,
    computed,
    empty,
    mean_and_error,
    simulated,
    vanishing,
    variance_and_error,
)
from armillary.verdicts.wertich_basics import haar, random_law, sampled


@claim(
    "WE-6.12",
    "Equation (6.12)",
    "E σ₁² ≈ 4nσ²",
    "holds as n grows; at finite n smaller by about 3 n^{1/3} σ²",
    "The edge of the Marchenko–Pastur law, with Tracy–Widom fluctuations of relative order n^{−2/3}.",
    ("WE-2.5-MP",),
)
def largest(rng: np.random.Generator) -> Finding:
    """Power of n by which 1 − E σ₁²/4nσ² falls."""
    sizes, draws = (24, 48, 96), (1200, 600, 300)
    gaps = []
    for size, count in zip(sizes, draws, strict=True):
        matrices = rng.standard_normal((count, size, size))
        top = np.linalg.eigvalsh(matrices @ matrices.swapaxes(1, 2))[:, -1]
        gaps.append(1 - float(top.mean()) / largest_square(size, 1.0))
    return vanishing(sizes, gaps, -2 / 3, within=0.3)


@claim(
    "WE-6.13",
    "Equation (6.13)",
    "Σσ_i² has mean n²σ² and variance 2n²σ⁴",
    "holds",
    "It is the sum of n² squared entries.",
)
def energy(rng: np.random.Generator) -> Finding:
    """Mean of ‖A‖², n = 8, σ = 0.5."""
    values = np.sum((0.5 * rng.standard_normal((30_000, 64))) ** 2, axis=1)
    exact = energy_moments(64, 0.25)
    return all_of(
        simulated(*mean_and_error(values), exact.mean), simulated(*variance_and_error(values), exact.variance)
    )


@claim(
    "WE-6.17",
    "Equation (6.17)",
    "E Tr(AᵀB) = 0 and Var = n²σ⁴ for independent A, B",
    "holds; the excess kurtosis is 6/n², so it is nearly normal and not χ²",
    "A sum of n² independent products.",
)
def trace_of_product(rng: np.random.Generator) -> Finding:
    """Variance of Tr(AᵀB), n = 8, σ = 0.5."""
    A, B = 0.5 * rng.standard_normal((2, 30_000, 64))
    values = np.sum(A * B, axis=1)
    exact = random_trace_moments(64, 0.25)
    return all_of(
        simulated(*variance_and_error(values), exact.variance), simulated(*mean_and_error(values), exact.mean)
    )


@claim(
    "WE-6.29",
    "Equation (6.29)",
    "E σ_i = √n σ",
    "8/(3π) √n σ = 0.849 √n σ",
    "The root of a mean is not the mean of roots.",
    ("WE-2.5-WIGNER",),
)
def mean_value(rng: np.random.Generator) -> Finding:
    """Mean singular value over √n σ, n = 200."""
    values = np.linalg.svd(rng.standard_normal((16, 200, 200)) / np.sqrt(200), compute_uv=False)
    return compared(float(values.mean()), 0.01, mean_singular_value(200, 1 / np.sqrt(200)), 1.0)


@claim(
    "WE-6.24-29",
    "Equations (6.24) to (6.29)",
    "for given V_A, V_B there are U_A, U_B with E Tr(AᵀB) = n²σ², independent of Tr(V_BᵀV_A)",
    "the printed choice gives (8/3π)² n²σ² = 0.72, the best one ‖BAᵀ‖_* = 0.75 n²σ²; n²σ² needs V_A = V_B",
    "In (6.27) columns are paired as if W were the identity: Tr(D_AWᵀD_BW) = Σ σ_aiσ_bjW_ji². What survives: left "
    "factors can undo most of the rotation between right ones.",
    ("WE-6.29",),
)
def aligned(rng: np.random.Generator) -> Finding:
    """Tr(AᵀB)/n²σ² for the printed choice, n = 200."""
    traces, best = [], []
    for _ in range(6):
        A, B = rng.standard_normal((2, 200, 200))
        _, a, right_a = np.linalg.svd(A)
        _, b, right_b = np.linalg.svd(B)
        W = right_b @ right_a.T
        traces.append(float(np.einsum("i,ji,j,ji->", a, W, b, W)) / 200**2)
        best.append(float(np.linalg.svd(B @ A.T, compute_uv=False).sum()) / 200**2)
    found = compared(float(np.mean(traces)), 0.02, matched_trace(200, 1.0) / 200**2, 1.0)
    return all_of(found, compared(float(np.mean(best)), 0.02, largest_trace(200, 1.0) / 200**2))


@claim(
    "WE-6.25-DOF",
    "Section 6.2",
    "the singular value decomposition splits n² degrees of freedom into n + 2 · n(n − 1)/2",
    "holds",
    "Singular values and two orthogonal matrices.",
)
def degrees(rng: np.random.Generator) -> Finding:
    """Rank of the derivative of (U, D, V) → UDVᵀ by differences, U and V as exponentials of skew matrices, n = 5."""

    def rank(size: int) -> float:
        turns, upper = size * (size - 1) // 2, np.triu_indices(size, 1)
        values = np.arange(1.0, size + 1)
        left, right = haar(rng, 2, size)

        def matrix(parameters: np.ndarray) -> np.ndarray:
            skew = np.zeros((2, size, size))
            skew[:, *upper] = parameters[: 2 * turns].reshape(2, turns)
            first, second = scipy.linalg.expm(skew - skew.swapaxes(1, 2))
            return np.asarray((left @ first * (values + parameters[2 * turns :]) @ second @ right).ravel())

        count, step = 2 * turns + size, 1e-5
        ends = [np.stack([matrix(sign * step * unit) for unit in np.eye(count)]) for sign in (1, -1)]
        return float(np.linalg.matrix_rank((ends[0] - ends[1]) / (2 * step), tol=1e-6))

    sizes = np.array([2.0, 3.0, 4.0, 5.0])
    return computed(np.array([rank(int(size)) for size in sizes]), sizes + 2 * (sizes * (sizes - 1) / 2))


@claim(
    "WE-6.34",
    "Equation (6.34)",
    "Var Tr(AᵀB) = (1/n) Σ σ_ai²σ_bi² for given spectra and random rotations",
    "Σσ_a² Σσ_b²/n²",
    "Products of two independent rotations: every pair (i, j) meets with variance 1/n². Only the two energies count, "
    "so an angle between spectra means nothing here. The published one contradicts (6.17).",
    ("WE-6.17",),
)
def turned(rng: np.random.Generator) -> Finding:
    """Variance of Tr(AᵀB), n = 6, both spectra 6, 5, 4, 3, 2, 1."""
    spectrum = np.arange(6.0, 0, -1)
    first, second = haar(rng, 8000, 6), haar(rng, 8000, 6)
    values = np.einsum("i,nij,j,nij->n", spectrum, first, spectrum, second)
    exact, printed = (made(spectrum, spectrum) for made in (turned_trace_variance, published_trace_variance))
    return simulated(*variance_and_error(values), exact, printed)


@claim(
    "WE-7.1-MIX",
    "Section 7.1.1",
    "the output of attention is a Gaussian mixture",
    "with fixed weights a Gaussian linear combination; the stated mean and covariance are right for it, and a mixture "
    "has others",
    "Σ λ_iX_i adds vectors, a mixture picks one. Real weights depend on the tokens, and then neither formula holds.",
)
def mixture(rng: np.random.Generator) -> Finding:
    """Variance of one coordinate of an output, 3 tokens; published: of the mixture."""
    law, pattern = random_law(np.random.default_rng(15), 6), np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    outputs = np.einsum("qk,nkd->nqd", pattern, sampled(law, 40_000, rng).reshape(-1, 3, 2)).reshape(-1, 4)
    made = mixed_law(law, pattern)
    centred = outputs - made.mean
    own = np.stack([law.covariance[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] for i in range(3)])
    means = law.mean.reshape(3, 2)
    printed = mixture_covariance(own, token_law(means, pattern[0]).covariance, pattern[0])
    squares = mean_and_error(np.einsum("na,nb->nab", centred, centred))
    whole = simulated(*squares, made.covariance)
    first = simulated(squares[0][:2, :2], squares[1][:2, :2], made.covariance[:2, :2], printed)
    return all_of(first, whole, simulated(*mean_and_error(outputs), made.mean))


@claim(
    "WE-7.1-ENT/MI",
    "Section 7.1.2",
    "entropy and mutual information of outputs from Σ λ_iλ_jΣ_ij; mixing does not preserve information",
    "holds for fixed weights",
    "Outputs are Gaussian then.",
    ("WE-7.1-MIX", "WE-2.2-KL0"),
)
def mixed_nats(rng: np.random.Generator) -> Finding:
    """Mutual information of two outputs over 4 tokens, nats."""
    decay = np.array([0.6**lag for lag in range(4)])
    base = random_law(rng, 2).covariance
    blocks = np.block([[decay[abs(i - j)] * base for j in range(4)] for i in range(4)])
    first, second = rng.dirichlet(np.ones(4), 2)
    both = mixed_law(Gaussian(np.zeros(8), blocks), np.stack([first, second])).covariance
    found = mixed_information(first, second, decay[:, None, None] * base)
    before = mutual_information(blocks[:4, :4], 2)
    words = f"Two neighbours share {before:.2f} nats before mixing."
    return all_of(
        computed(found.information, mutual_information(both, 2), note=words),
        computed(found.entropy, gaussian_entropy(both[:2, :2])),
    )


@claim(
    "WE-7.2.1-LINFORMER",
    "Section 7.2.1",
    "for given w there is a low-rank P̃ with P̃w ≈ Pw, so attention has rank of order log n",
    "the premise holds for any matrix with rank 1 and no error, and says nothing about P",
    "P̃ = Pwwᵀ/|w|². Attention may have any rank: softmax(XXᵀ/4) of 256 random tokens has a stable rank near 256.",
)
def linformer(rng: np.random.Generator) -> Finding:
    """Relative error of a rank-1 P̃ on w, for a random attention matrix of 256 tokens."""
    states = rng.standard_normal((256, 64))
    pattern, vector = softmax(states @ states.T / 4), rng.standard_normal(256)
    stand_in = rank_one_stand_in(pattern, vector)
    error = float(np.linalg.norm(stand_in @ vector - pattern @ vector) / np.linalg.norm(pattern @ vector))
    squares = np.linalg.svd(pattern, compute_uv=False) ** 2
    high = float(squares.sum() / squares[0])
    words = f"Stable rank of this matrix: {high:.0f}; log n is {np.log(256):.1f}."
    return empty(bool(error < 1e-10 and high > 10 * np.log(256)), error, note=words)


@claim(
    "WE-7.2.2-LEN",
    "Section 7.2.2",
    "Σσ² between n/20 and n/10 scales lengths to about 1/10",
    "to its root, 0.22 to 0.32",
    "E‖Av‖² = Σσ²/n.",
    ("WE-2.5-DV",),
)
def scaled_length(rng: np.random.Generator) -> Finding:
    """Mean length of Av, |v| = 1, n = 64, Σσ² = n/10."""
    deviation = float(np.sqrt(1 / (10 * 64)))
    lengths = np.linalg.norm(deviation * rng.standard_normal((10_000, 64)), axis=1)
    return simulated(*mean_and_error(lengths), mean_length(64, deviation), 0.1)


@claim(
    "WE-7.2.3-HYP",
    "Section 7.2.3, hypothesis",
    "attention layers with ‖W‖ ≤ 2 make all embeddings alike",
    "random matrices without a skip do, within two layers; W_q = W_k = W_v = 2I with long tokens does not",
    "Where every token attends to itself alone nothing is mixed. A skip holds the mixture up for many layers.",
)
def uniform_mixture(rng: np.random.Generator) -> Finding:
    """Mean cosine of 32 tokens after 8 layers of 2I, |x| = 8, d = 64; alike: 1."""
    states = rng.standard_normal((32, 64))
    states *= 8 / np.linalg.norm(states, axis=1, keepdims=True)
    weights = np.stack([2 * np.eye(64)] * 3)
    for _ in range(8):
        states = attention_layer(states, weights)
        states *= 8 / np.linalg.norm(states, axis=1, keepdims=True)
    random = stack_similarity(depth=2, stacks=4, seed=int(rng.integers(1 << 31)))
    alike = compared(float(random.similarity[-1]), 0.02, 1.0)
    return all_of(compared(token_cosine(states), 0.05, 0.0, 1.0), alike)


@claim(
    "WE-8.5",
    "Section 8.5",
    "scaling both spectra by α scales the logits by α²",
    "holds for a fixed input, biases scaled too, without a norm of queries and keys",
    "Bilinear.",
)
def scaled_logits(rng: np.random.Generator) -> Finding:
    """Largest logit at α = 1.7; α² times the logit before, from lengths of q + k and q − k."""
    states, (W_q, W_k), bias = rng.standard_normal((5, 8)), rng.standard_normal((2, 8, 4)), rng.standard_normal((2, 4))
    scaled = [np.linalg.svd(W, full_matrices=False) for W in (W_q, W_k)]
    bigger = [states @ (left * (1.7 * values) @ right) for left, values, right in scaled]
    query, key = states @ W_q + bias[0], states @ W_k + bias[1]
    logits = (cdist(query, -key, "sqeuclidean") - cdist(query, key, "sqeuclidean")) / 4
    both = [part + 1.7 * own for part, own in zip(bigger, bias, strict=True)]
    unscaled = [part + own for part, own in zip(bigger, bias, strict=True)]
    law = Gaussian(np.zeros(8), np.eye(8))
    spread = [bilinear_moments(scale * np.eye(4), law).variance for scale in (1.0, 1.7**2)]
    gap = float(np.abs(unscaled[0] @ unscaled[1].T - 1.7**2 * logits).max())
    found = computed(both[0] @ both[1].T, 1.7**2 * logits, note=f"With biases as they were: off by {gap:.1f}.")
    return all_of(found, computed(np.array(spread), 4 * np.array([1, 1.7**4])))  # ‖α² I‖² of independent q and k


@claim(
    "WE-9.1",
    "Chapter 9",
    "standard normal vectors lie near a sphere of radius 1/n",
    "of radius √n",
    "E|x|² = n.",
    ("WE-2.4-SQRTD",),
)
def radius(rng: np.random.Generator) -> Finding:
    """Mean length of a standard normal vector, n = 64."""
    lengths = np.linalg.norm(rng.standard_normal((10_000, 64)), axis=1)
    return simulated(*mean_and_error(lengths), mean_length(64), 1 / 64)


maps = unchecked(
    "WE-8",
    "Chapter 8",
    "attention maps and spectra of Mistral 7B under scaled spectra",
    "Weights of that model are not here, and only figures are published; with grouped-query attention Tr(W_qᵀW_k) is "
    "not defined without saying which key head belongs to a query head. WE-7.2.1-RANK, WE-7.2.2-SPECTRA and "
    "WE-8-ALIGN ask the model of a run.",
)


CLAIMS = claims_among(globals())

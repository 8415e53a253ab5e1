"""Sections 2 and 3 of Bao et al.: the piecewise linear softmax, and the gradient in which it appears."""

import numpy as np

from armillary.measures.localization.curves import piecewise_distances
from armillary.measures.localization.gradient import gradient_terms, gradient_terms_by_index, piecewise_loss
from armillary.measures.localization.products import mean_score_share, product_of_four
from armillary.measures.localization.simulation import walk_scores
from armillary.measures.localization.softmax import softmax, tangent
from armillary.measures.localization.walk import moments
from armillary.verdicts.claim import ASYMPTOTIC, FALSE, Finding, claim, claims_among
from armillary.verdicts.deciding import (
    all_of,
    approximate,
    compared,
    computed,
    inequality,
    simulated,
    vanishing,
    variance_and_error,
)


@claim(
    "BAO-GAMMA",
    "Section 2",
    "γ^i = ∇S_i(0) = e_i/T − 1/T², γ₀ = 1/T",
    "holds",
    "∂p_i/∂ω_j = p_i(δ_ij − p_j) at p = 1/T.",
)
def softmax_tangent(rng: np.random.Generator) -> Finding:
    """Largest entry of the softmax's derivative at 0, T = 12, by differences."""
    length, step = 12, 1e-4
    measured = (softmax(step * np.eye(length)) - softmax(-step * np.eye(length))) / (2 * step)
    slopes = tangent(np.eye(length)) - tangent(np.zeros((length, length)))
    at_zero = computed(softmax(np.zeros(length)), tangent(np.zeros(length)))
    return all_of(computed(measured, slopes, tolerance=1e-6), at_zero)


@claim(
    "BAO-ROWCOL",
    "Equation (1)",
    "S is the softmax applied to each row of XᵀMX/λ",
    "to each column: U = W_V X A mixes tokens by the columns of A",
    "A convention: with tokens as columns of X, output t is W_V X A_t, whose weights A_t must add up to 1.",
)
def rows_or_columns(rng: np.random.Generator) -> Finding:
    """Sum of the weights that mix one token, rows normalised (published) or columns (corrected)."""
    scores = rng.standard_normal((6, 6))
    by_row, by_column = softmax(scores), softmax(scores.T).T
    return computed(np.ones(6), by_column.sum(axis=0), by_row.sum(axis=0))


@claim(
    "BAO-PWL",
    "Section 2, figure 1",
    "S(ω)_i ≈ clip(⟨γ^i, ω⟩ + γ₀, 0, 1)",
    "total variation 0.24 s² for scores of deviation s up to 0.5; at s = 2 half of the mass is misplaced",
    "Second order: p − g ≈ (z² − 1)s²/2T. Clipping at 0 adds mass, so S̃ is no distribution: its sum is 1.4 at s = 2 "
    "and 3.7 at s = 8. The error hardly depends on T. Under Assumption 1 scores have a deviation of the order "
    "T √tr W²/λ, far from 0.",
    ("BAO-GAMMA",),
)
def piecewise(rng: np.random.Generator) -> Finding:
    """Total variation between softmax and S̃ at s = 0.5, T = 40; at most 0.1 is called close."""
    sizes = np.array([0.1, 0.5, 2.0, 8.0])
    found = piecewise_distances(np.array([40, 512]), sizes, 400, int(rng.integers(1 << 31)))
    far = found.piecewise_distance[0, 2]
    return approximate(
        float(found.piecewise_distance[0, 1]),
        0.1,
        float(found.piecewise_distance_se[0, 1]),
        corrected=float(found.piecewise_distance_small[1]),
        note=f"At s = 2 it is {far:.2f}.",
    )


@claim(
    "BAO-REM2",
    "Remark 2",
    "for large T, γ^i selects the i-th input: γ^i = e_i/T + o(1)",
    "⟨γ^i, ω⟩ = (ω_i − mean ω)/T: the T − 1 entries −1/T² together count as much as the first",
    "o(1) is empty beside e_i/T, which is itself o(1). The mean of T scores has the size of one of them at any T; the "
    "θ − ½ of Lemma 1 comes from it.",
    ("BAO-GAMMA", "BAO-L4"),
)
def selector(rng: np.random.Generator) -> Finding:
    """Root mean square of ⟨γ^i, ω⟩ − ω_i/T over that of ω_i/T, i = 20, T = 40; a selector gives 0."""
    length, d_model, place = 40, 16, 20
    scores = walk_scores(np.eye(d_model), np.eye(d_model), 4000, length, rng)
    beside = tangent(scores)[:, place - 1] - 1 / length - scores[:, place - 1] / length
    parts = np.stack([beside**2, (scores[:, place - 1] / length) ** 2]).reshape(2, 20, -1).mean(axis=2)
    ratios = np.sqrt(parts[0] / parts[1])
    error = float(ratios.std(ddof=1) / np.sqrt(20))
    measured = float(np.sqrt(parts[0].mean() / parts[1].mean()))
    return simulated(measured, error, mean_score_share(float(d_model), float(d_model), place, length), 0.0)


@claim(
    "BAO-SYM",
    "after Lemma 1",
    "for asymmetric W_QK take the symmetrised matrix",
    "v_i = (u_i² + κ²) tr(MΣMᵀΣ) + u_i² tr(MΣMΣ), κ² = (T² − 1)/12T², for any M",
    "Isserlis' theorem with x_i − mean x and x_T. Symmetrising is another head: it loses the antisymmetric energy.",
    ("BAO-L1-VAR",),
)
def asymmetric(rng: np.random.Generator) -> Finding:
    """Variance of g at i = 5, T = 10, for one asymmetric M, d = 5."""
    length, d_model = 10, 5
    M = np.random.default_rng(5).standard_normal((d_model, d_model)) / 2
    values = tangent(walk_scores(M, np.eye(d_model), 60_000, length, rng))
    half = (M + M.T) / 2
    exact = moments(np.trace(M), np.sum(M * M.T), np.sum(M**2), length).variance
    published = moments(np.trace(half), np.sum(half**2), np.sum(half**2), length).variance
    return simulated(*variance_and_error(values), exact, published)


@claim(
    "BAO-EQ3",
    "Equation (3)",
    "∇J = λ⁻² XΓPΓᵀXᵀMx_Tx_Tᵀ + λ⁻¹ XΓPγ̃₀x_Tᵀ + λ⁻¹ XΓqx_Tᵀ",
    "holds where no token sits at a kink; one line of its derivation lacks P",
    "S̃ is linear between its kinks.",
)
def gradient(rng: np.random.Generator) -> Finding:
    """Largest entry of the gradient, T = 6, d = 4, by differences of the loss."""
    d_model, step = 4, 1e-6
    for _ in range(50):
        given = one_layer(rng, 6, d_model)
        values = tangent(given[0] @ given[2] @ given[0][-1] / given[5])
        if np.abs(values).min() > 0.02 and np.abs(values - 1).min() > 0.02 and (values < 0).any():
            break
    states, target, W_QK, W_V, W_F, temperature = given
    measured = np.empty((d_model, d_model))
    for row, column in np.ndindex(d_model, d_model):
        unit = np.zeros((d_model, d_model))
        unit[row, column] = step
        losses = [piecewise_loss(states, target, W_QK + sign * unit, W_V, W_F, temperature) for sign in (1, -1)]
        measured[row, column] = (losses[0] - losses[1]) / (2 * step)
    return computed(measured, np.sum(gradient_terms(*given), axis=0), tolerance=1e-5)


@claim(
    "BAO-EQ19-21",
    "Equations (19) to (21)",
    "the three terms of (3) as sums over tokens",
    "holds",
    "Written out index by index.",
    ("BAO-EQ3",),
)
def by_index(rng: np.random.Generator) -> Finding:
    """Largest entry of the first term, T = 8, d = 4."""
    given = one_layer(rng, 8, 4)
    return computed(np.stack(gradient_terms(*given)), np.stack(gradient_terms_by_index(*given)))


@claim(
    "BAO-B2-CS",
    "Appendix B.2",
    "|Σ E[abcd]|² ≤ ΣE[a²] ΣE[b²] ΣE[c²] ΣE[d²], by Cauchy–Schwarz",
    "Hölder's inequality with fourth moments: |E[abcd]|⁴ ≤ E[a⁴] E[b⁴] E[c⁴] E[d⁴]",
    "Cauchy–Schwarz is for two factors. a = b = c = d standard normal: 9 on the left, 1 on the right.",
)
def four_factors(rng: np.random.Generator) -> Finding:
    """Largest left side over right side, a = b = c = d and 2000 normal draws of four; at most 1."""
    factors = rng.standard_normal((2000, 4, 4))
    covariance = np.concatenate([np.ones((1, 4, 4)), factors @ factors.swapaxes(1, 2)])
    variances = np.einsum("nii->ni", covariance)
    left, fourth = product_of_four(covariance), product_of_four(variances[..., None, None] * np.ones((4, 4)))
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    quadrature = computed(float(weights @ nodes**4 / weights.sum()), float(left[0]))
    return all_of(inequality(left**4 / fourth.prod(axis=1), left**2 / variances.prod(axis=1)), quadrature)


@claim(
    "BAO-B2-ORDER",
    "Appendix B.2",
    "(19) = O(T⁸), (20) = O(T⁵), (21) = O(T⁴), hence (19) dominates",
    "the orders are T³, T², T²; (19) dominates by one power of T",
    "As upper bounds the published orders hold, and so does the conclusion; but upper bounds that are not tight do not "
    "say which term is larger. While all tokens are active, XΓX is a covariance over tokens of order T and x_T of "
    "order √T.",
    ("BAO-B2-CS", "BAO-EQ19-21"),
)
def orders(rng: np.random.Generator) -> Finding:
    """Power of T by which (19) grows, T = 64 to 512, d = 8."""
    lengths, d_model = np.array([64, 128, 256, 512]), 8
    sizes = np.array([mean_terms(int(length), d_model, rng) for length in lengths])
    slopes = np.polyfit(np.log(lengths), np.log(sizes), 1)[0]
    tight = compared(slopes, 0.4, np.array([3.0, 2.0, 2.0]), np.array([8.0, 5.0, 4.0]))
    dominates = bool(slopes[0] > slopes[1:].max() + 0.5)
    return tight._replace(verdict=ASYMPTOTIC) if tight.verdict == FALSE and dominates else tight


@claim(
    "BAO-GAMMADIAG",
    "Section 3",
    "γ_i^i = 1/T and γ_α^i = o(1/T) for α ≠ i",
    "γ_i^i = 1/T − 1/T², γ_α^i = −1/T²",
    "Exact values from the softmax's derivative.",
    ("BAO-GAMMA",),
)
def diagonal(rng: np.random.Generator) -> Finding:
    """Power of T by which the relative error of γ_i^i = 1/T falls."""
    sizes = [10, 100, 1000]
    entries = [tangent(np.eye(1, size)[0])[0] - 1 / size for size in sizes]
    errors = [abs(size * entry - 1) for size, entry in zip(sizes, entries, strict=True)]
    return vanishing(sizes, errors, -1.0)


def one_layer(
    rng: np.random.Generator, length: int, d_model: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """Tokens of a walk, the next one, W_QK, W_V, W_F and the temperature of a small transformer."""
    walk = rng.standard_normal((length + 1, d_model)).cumsum(axis=0)
    W_QK, W_V, W_F = rng.standard_normal((3, d_model, d_model)) / np.sqrt(d_model)
    return walk[:-1], walk[-1], W_QK, W_V, W_F, 2 * np.sqrt(d_model)


def mean_terms(length: int, d_model: int, rng: np.random.Generator) -> list[float]:
    """Norms of the mean of the three terms over walks, for W_QK so small that every token is active."""
    eye, total = np.eye(d_model), np.zeros((3, d_model, d_model))
    for _ in range(400):
        walk = rng.standard_normal((length + 1, d_model)).cumsum(axis=0)
        total += np.stack(gradient_terms(walk[:-1], walk[-1], 1e-9 * eye, eye, 2 * eye, 1.0))
    return [float(np.linalg.norm(term)) for term in total]


CLAIMS = claims_among(globals())

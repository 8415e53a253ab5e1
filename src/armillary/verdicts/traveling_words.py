"""What the summary of ‘Traveling words’ says about norms and the products of a head's weights."""

import numpy as np
import xarray as xr

from armillary.measures.localization.softmax import softmax
from armillary.measures.similarity import unit_vectors
from armillary.measures.spectra.factors import factors
from armillary.measures.spectra.products import qk_spectrum, vo_spectrum
from armillary.measures.sphere.decoding import argmax_agreement
from armillary.measures.sphere.layer_norm import radius_with_eps, sphere_logits, stream_radius, stretch
from armillary.measures.sphere.norms import norm_radii, sphere_points, without_gain
from armillary.measures.stores.depth import legible, unreadable
from armillary.results.store_answers import block_readable
from armillary.verdicts.claim import ABSENT, APPROXIMATE, Finding, claim, claims_among, of_model
from armillary.verdicts.deciding import all_of, computed, mean_and_error, simulated

WIDTH = 64
"""Coordinates of a state in these checks; the radius is 8."""


@claim(
    "TW-LN",
    "Mechanism 1",
    "LN(x) = √d Px/|Px|, P = I − 11ᵀ/d: a sphere of radius √d",
    "holds at eps = 0; the surface is the sphere S^(d−2) in the hyperplane orthogonal to 1",
    "Taking the mean off is the projection P, and the standard deviation is |Px|/√d.",
)
def sphere_of_radius(rng: np.random.Generator) -> Finding:
    """Norm of LayerNorm's output, d = 64."""
    states = rng.standard_normal((200, WIDTH)) * rng.lognormal(0, 2, (200, 1))
    outputs = (states - states.mean(-1, keepdims=True)) / states.std(-1, keepdims=True)
    points = sphere_points(states, True, 0.0)
    on_sphere = computed(np.linalg.norm(outputs, axis=-1), np.full(200, np.sqrt(WIDTH)))
    return all_of(on_sphere, computed(outputs, points))


@claim(
    "TW-LN-EPS",
    "Mechanism 1",
    "features have norm √d",
    "norm √(d var/(var + eps)): √d only where var ≫ eps",
    "LayerNorm divides by √(var + eps); small inputs stay inside the sphere.",
    ("TW-LN",),
)
def sphere_with_eps(rng: np.random.Generator) -> Finding:
    """Norm of the output for inputs of variance 1e-6, d = 64, eps = 1e-5."""
    sizes = np.array([1e-3, 1e-2, 1.0])[:, None]
    states = sizes * rng.standard_normal((3, WIDTH))
    measured = np.linalg.norm(sphere_points(states, True, 1e-5), axis=-1)
    return computed(measured, radius_with_eps(states.var(-1), 1e-5, WIDTH), np.full(3, np.sqrt(WIDTH)))


@claim(
    "TW-BREAK",
    "Mechanism 1, Limitations",
    "a non-zero scale or bias turns the sphere into an ellipsoid or a displaced sphere",
    "a non-constant scale or a non-zero bias does; a constant scale c leaves a sphere of radius c√d",
    "Σ((z − bias)/gain)² = d for any gain without zeros: an ellipsoid whose axes are equal where the gain is constant.",
    ("TW-LN",),
)
def ellipsoid(rng: np.random.Generator) -> Finding:
    """Spread of the output's norm for gain 1.7 everywhere and no bias; an ellipsoid has one above 0."""
    points = sphere_points(rng.standard_normal((300, WIDTH)), True, 0.0)
    gain, bias = rng.uniform(0.5, 2, WIDTH), rng.standard_normal(WIDTH)
    constant = norm_radii(points, np.full(WIDTH, 1.7), np.zeros(WIDTH))
    varied = norm_radii(points, gain, np.zeros(WIDTH))
    back = without_gain(points * gain + bias, gain, bias, True)
    surface = computed(np.sum(back**2, axis=-1), np.full(300, float(WIDTH)))
    spread = computed(constant.radius_after_sd, 0.0, varied.radius_after_sd)
    return all_of(spread, surface)


@claim(
    "TW-RESID",
    "Mechanism 1",
    "the residual nature keeps the constraint consistent across layers",
    "only the outputs of norms lie on the sphere; the stream itself leaves it with every block",
    "x + f(LN x) has norm² |x|² + |f|² + 2⟨x, f⟩: nothing brings it back. What survives: every block reads points of "
    "the same sphere.",
    ("TW-LN",),
)
def stream(rng: np.random.Generator) -> Finding:
    """Root mean square norm of the stream after 4 random pre-norm blocks, d = 64; on the sphere it is 8."""
    states = sphere_points(rng.standard_normal((400, WIDTH)), True, 0.0)[:, None]
    for _ in range(4):
        weights = rng.standard_normal((400, WIDTH, WIDTH)) / np.sqrt(WIDTH)
        states = states + np.sqrt(2) * np.maximum(sphere_points(states[:, 0], True, 0.0)[:, None] @ weights, 0)
    squares = np.sum(states[:, 0] ** 2, axis=-1)
    read = np.linalg.norm(sphere_points(states[:, 0], True, 0.0), axis=-1)
    on_sphere = computed(read, np.full(len(read), np.sqrt(WIDTH)))
    mean, error = (float(each) for each in mean_and_error(squares))
    measured = np.sqrt(mean)
    grown = simulated(measured, error / (2 * measured), stream_radius(WIDTH, 4), np.sqrt(WIDTH))
    return all_of(grown, on_sphere)


@claim(
    "TW-RMS",
    "Mechanism 1, for RMSNorm",
    "RMSNorm: norm √d, without a projection",
    "holds",
    "x √d/|x|: the whole sphere S^(d−1).",
)
def root_mean_square(rng: np.random.Generator) -> Finding:
    """Norm of RMSNorm's output, d = 64."""
    states = rng.standard_normal((200, WIDTH)) + 3
    measured = states / np.sqrt(np.mean(states**2, axis=-1, keepdims=True))
    points = sphere_points(states, False, 0.0)
    return all_of(computed(np.linalg.norm(points, axis=-1), np.full(200, np.sqrt(WIDTH))), computed(measured, points))


@claim(
    "TW-ANGLE",
    "Mechanism 2",
    "⟨LN x, LN y⟩/d is the cosine on the sphere",
    "holds: it is Pearson's correlation of x and y over coordinates",
    "LN is standardisation over coordinates.",
    ("TW-LN",),
)
def angle(rng: np.random.Generator) -> Finding:
    """Largest correlation of two states over coordinates."""
    states = rng.standard_normal((40, WIDTH)) + rng.standard_normal((40, 1))
    unit = unit_vectors(sphere_points(states, True, 0.0))
    return computed(np.corrcoef(states), unit @ unit.T)


@claim(
    "TW-QK-RANK",
    "Mechanism 2, break condition",
    "rank W_QK ≤ k, k the width of a head",
    "holds",
    "W_QK = W_Q W_Kᵀ factors through k dimensions; all its singular values are those of a k × k matrix.",
)
def rank_of_qk(rng: np.random.Generator) -> Finding:
    """(k + 1)-th singular value of W_QK over the first, d = 64, k = 8."""
    W_Q, W_K, W_V = rng.standard_normal((3, WIDTH, 8))
    made = factors(W_Q, W_K, W_V, W_V.T)
    measured = np.linalg.svd(W_Q @ W_K.T, compute_uv=False)
    few = qk_spectrum(made.R_Q, made.R_K, made.inner_qk, 1.0, WIDTH).singular_value_qk
    found = computed(measured, np.pad(few, (0, WIDTH - 8)))
    return found._replace(measured=float(measured[8] / measured[0]), published=0.0, corrected=0.0)


@claim(
    "TW-QK-NULL",
    "Mechanism 2, break condition",
    "queries and keys in the null space attend to, and are attended by, all alike",
    "holds: a null query attends uniformly, a null key scores 0 with every query",
    "W_QKᵀ x = 0 makes all scores of x equal to 0, and the softmax of equal scores is uniform.",
    ("TW-QK-RANK",),
)
def null_space(rng: np.random.Generator) -> Finding:
    """Attention of a null query on each of 10 keys."""
    W_QK = rng.standard_normal((WIDTH, 8)) @ rng.standard_normal((8, WIDTH))
    left, _, right = np.linalg.svd(W_QK)
    keys = rng.standard_normal((10, WIDTH))
    attention = softmax((left[:, -1] @ W_QK @ keys.T)[None])[0]
    scores = rng.standard_normal((5, WIDTH)) @ W_QK @ right[-1]
    return all_of(computed(attention, np.full(10, 0.1)), computed(1 + scores, np.ones(5)))


@claim(
    "TW-VO",
    "Mechanism 3",
    "x W_VO = Σ σ_i ⟨x, u_i⟩ v_iᵀ: left singular vectors are keys, right ones values; zero singular values give no "
    "update",
    "holds in the row convention (x from the left); in the column convention the two change places",
    "The singular value decomposition itself. The rank of the sum over H heads is at most H k.",
    ("TW-QK-RANK",),
)
def key_value_store(rng: np.random.Generator) -> Finding:
    """Largest entry of x W_VO."""
    W_V, W_O = rng.standard_normal((3, WIDTH, 8)), rng.standard_normal((3, 8, WIDTH))
    product = W_V[0] @ W_O[0]
    made = factors(W_V[0], W_V[1], W_V[0], W_O[0])
    sizes = vo_spectrum(made.R_V, made.R_O, made.inner_vo, WIDTH).singular_value_vo
    left, _, right = np.linalg.svd(product)
    states = rng.standard_normal((20, WIDTH))
    together = np.linalg.matrix_rank(np.einsum("hak,hkb->ab", W_V, W_O))
    stored = computed(states @ product, (states @ left[:, :8] * sizes) @ right[:8])
    return all_of(stored, computed(left[:, -1] @ product + 1, np.ones(WIDTH)), computed(float(together), 24.0))


@claim(
    "TW-FINAL",
    "Open questions",
    "what does the norm before the output layer do to the logits?",
    "logits = √d |Pw| cos(Pw, Px): the part of w along 1 counts for nothing; gain and bias fold into W_E",
    "⟨w, √d Px/|Px|⟩ = √d ⟨Pw, Px⟩/|Px|. The likeliest token has the largest cosine only where all |Pw| are equal.",
    ("TW-LN",),
)
def final_logits(rng: np.random.Generator) -> Finding:
    """Largest logit of 50 states over 300 tokens."""
    states, rows = rng.standard_normal((50, WIDTH)), rng.standard_normal((300, WIDTH)) * rng.lognormal(0, 0.3, (300, 1))
    outputs = (states - states.mean(-1, keepdims=True)) / states.std(-1, keepdims=True)
    logits = outputs @ rows.T
    cosines = unit_vectors(states - states.mean(-1, keepdims=True)) @ unit_vectors(rows).T
    same = argmax_agreement(logits.argmax(-1), cosines.argmax(-1), np.arange(50) % 5).argmax_agreement
    return computed(
        logits, sphere_logits(states, rows), note=f"Here the two tokens agree for {100 * same:.0f} % of states."
    )


@claim(
    "TW-JAC",
    "ours",
    "the derivative of LN has rank d − 2 and equal singular values 1/std",
    "holds",
    "The directions of 1 and of Px are lost, every other one is divided by the standard deviation.",
    ("TW-LN",),
)
def derivative(rng: np.random.Generator) -> Finding:
    """Largest singular value of the derivative of LN by finite differences, d = 64."""
    state, step = rng.standard_normal(WIDTH), 1e-5
    ends = [sphere_points(state + sign * step * np.eye(WIDTH), True, 0.0) for sign in (1, -1)]
    measured = np.linalg.svd((ends[0] - ends[1]) / (2 * step), compute_uv=False)
    return computed(measured, stretch(state), tolerance=1e-6)


@claim(
    "TW-QUIZ",
    "Foundational learning",
    "three answers: [−1, 0, 1]; 2 non-zero singular values; inner product 0",
    "holds",
    "The projection of [1, 2, 3] off 1; the rank of a rank-2 matrix; the cosine of 90°.",
)
def quiz(rng: np.random.Generator) -> Finding:
    """The three answers in order, the largest shown."""
    vector = np.array([1.0, 2.0, 3.0])
    projected = sphere_points(vector[None], True, 0.0)[0] * vector.std()
    rank = np.sum(np.linalg.svd(rng.standard_normal((3, 2)) @ rng.standard_normal((2, 3)), compute_uv=False) > 1e-10)
    right_angle = float(unit_vectors(np.array([1.0, 0.0])) @ unit_vectors(np.array([0.0, 1.0])))
    return computed(np.array([*projected, rank, right_angle]), np.array([-1.0, 0.0, 1.0, 2.0, 0.0]))


@of_model(
    "TW-GPT2",
    "Key results",
    "the first block shows no interpretable singular vectors, the last one does",
    "In this run: of the readings of the first and the last block, how many stand out more than 99 % of random "
    "directions, with 95 % intervals.",
    ("stores/peak", "stores/peak_null"),
)
def early_and_late(results: xr.DataTree) -> Finding:
    """Share of readable triplets in the last block; corrected: in the first."""
    first, last = unreadable(block_readable(results, 0)), legible(block_readable(results, -1))
    words = f"First block: {first.verdict}; last block: {last.verdict}."
    holds = APPROXIMATE if first.verdict == last.verdict == "holds" else ABSENT
    return Finding(holds, corrected=first.share, measured=last.share, note=words)


CLAIMS = claims_among(globals())

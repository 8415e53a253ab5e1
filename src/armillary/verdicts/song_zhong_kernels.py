"""Sections 4 and 5 of Song & Zhong: attention as a kernel, incoherence, and Theorem 2."""

import numpy as np

from armillary.measures.constituents import decoupled_scores
from armillary.measures.incoherence import incoherence, largest_cosine, mean_absolute_cosine
from armillary.measures.kernels import theorem2, theorem2_bound
from armillary.measures.localization.softmax import softmax
from armillary.measures.similarity import unit_vectors
from armillary.verdicts.claim import ASYMPTOTIC, Finding, claim, claims_among, unchecked
from armillary.verdicts.deciding import all_of, compared, computed, inequality, otherwise


@claim(
    "SZ-EQ9",
    "Section 5.1, after (9)",
    "hᵀWh′ = tᵀ(VLVᵀ + D)t′ + cᵀDc′ for D a multiple of the identity",
    "holds; for a general diagonal D the terms tᵀDc′ and cᵀDt′ remain",
    "t lies in the span of V and c orthogonal to it; D = aI keeps them orthogonal.",
)
def decoupling(rng: np.random.Generator) -> Finding:
    """Largest score of 8 tokens, d = 12."""
    frame = np.linalg.qr(rng.standard_normal((12, 3))).Q
    states = rng.standard_normal((8, 12))
    position = states @ frame @ frame.T
    low_rank = frame @ rng.standard_normal((3, 3)) @ frame.T
    same, general = np.full(12, 0.7), rng.uniform(-1, 1, 12)
    gap = states @ (low_rank + np.diag(general)) @ states.T
    gap = gap - decoupled_scores(position, states - position, low_rank, general)
    found = computed(
        states @ (low_rank + np.diag(same)) @ states.T, decoupled_scores(position, states - position, low_rank, same)
    )
    return found._replace(note=f"For a random diagonal D here: off by {np.abs(gap).max():.1f}.")


@claim(
    "SZ-MU",
    "Appendix D, on figures 30 and 31",
    "the global mean has little effect on attention, since a constant added to all scores changes nothing",
    "as part of the key it has none without rotation; as part of the query it acts like any other vector",
    "hᵀWμ is the same for every key, and a softmax does not see it; μᵀWh′ differs from key to key.",
)
def mean_effect(rng: np.random.Generator) -> Finding:
    """Largest change of attention when the mean leaves the queries, 10 tokens; published 0."""
    fixed = np.random.default_rng(3)
    states, mean, W = fixed.standard_normal((10, 8)), 3 * fixed.standard_normal(8), fixed.standard_normal((8, 8)) / 3
    whole = softmax((states + mean) @ W @ (states + mean).T)
    without_key, without_query = softmax((states + mean) @ W @ states.T), softmax(states @ W @ (states + mean).T)
    seen = np.exp(-(states + mean) @ W.T @ mean)  # what each key loses when the mean leaves the queries
    weighted = whole * seen / (whole @ seen)[:, None]
    change, expected = (np.abs(whole - each) for each in (without_query, weighted))
    return all_of(computed(change, expected, np.zeros_like(whole)), computed(whole, without_key))


@claim(
    "SZ-EQ11",
    "Equation (11)",
    "attention as Σ K_W(x_k, x_t) v(x_k) / Σ K_W(x_k′, x_t)",
    "K_W(x_t, x_k): the query first, as in equation (1)",
    "K_W(z, z′) = exp(⟨W_q z, W_k z′⟩/√d) has the query on the left; W is not symmetric.",
)
def kernel_order(rng: np.random.Generator) -> Finding:
    """Attention of one token on another by equation (1), where the printed order is farthest off."""
    states, W = rng.standard_normal((10, 6)), rng.standard_normal((6, 6))
    W_q, W_k = np.linalg.qr(W)
    by_query = softmax((states @ W_q) @ (states @ W_k.T).T)
    return computed(by_query, softmax(states @ W @ states.T), softmax(states @ W.T @ states.T))


@claim(
    "SZ-T2",
    "Theorem 2, (14)",
    "K_W = (1 + O(incoh)) K_W11 K_W12 K_W21 K_W22 for sparse W",
    "holds with the explicit and tight constant |log ratio| ≤ 4s(2ι + ι²)",
    "Of the three products that a matrix should not feel, two hold one small inner product and the third holds two. "
    "Attained by one vector in each basis and s equal terms.",
)
def factorisation(rng: np.random.Generator) -> Finding:
    """Largest |log ratio| over its bound in 60 random cases and one where it is attained; at most 1."""
    ratios = []
    for _ in range(60):
        bases = [rng.standard_normal((count, 24)) for count in (5, 4)]
        position, context = (unit_vectors(each) for each in bases)
        every = np.concatenate([context, position])
        terms = rng.choice([-1.0, 1.0], (9, 9)) * (rng.random((9, 9)) < 0.1)
        found = theorem2(position, context, every.T @ terms @ every)
        ratios.append(found.departure / found.bound if found.bound > 0 else 0.0)
    tight = np.array([[1.0, 0.0], [0.1, np.sqrt(1 - 0.01)]])
    W = 3 * np.sum([np.outer(one, other) for one in tight for other in tight], axis=0)
    attained = theorem2(tight[1:], tight[:1], W).departure
    return all_of(inequality(np.array(ratios)), computed(attained, theorem2_bound(3.0, 0.1)))


@claim(
    "SZ-T2-NOISE",
    "Theorem 2, noise",
    "(14) holds with probability 1 − O(|B₁||B₂| e^{−incoh² d}) under noise of size 1/√d",
    "the union runs over (|B₁| + |B₂|)² pairs; where the published statement says anything, a constant twice as large "
    "in O(incoh) makes up for it",
    "Z₁₁ also meets pairs within B₂. For unequal bases the largest noise is up to √2 times that over |B₁||B₂| pairs. "
    "The arithmetic of Remark 1 holds.",
    ("SZ-T2",),
)
def noise(rng: np.random.Generator) -> Finding:
    """Largest noise over 600² pairs, over twice its level for 1 × 600 pairs; d = 400; at most 1."""
    many, d_model = unit_vectors(rng.standard_normal((600, 400))), 400
    largest = float(np.abs(many @ rng.standard_normal((d_model, d_model)) @ many.T).max() / np.sqrt(d_model))
    levels = [float(np.sqrt(2 * np.log(2 * pairs) / d_model)) for pairs in (600, 600**2)]
    wider = compared(largest, 0.06, levels[1])
    found = inequality(largest / (2 * levels[0]))
    return otherwise(all_of(found, wider), ASYMPTOTIC)


@claim(
    "SZ-INCOH",
    "Section 5, Table 1",
    "the random baseline of max |cos(pos, ctx)| is about 0.1",
    "0.185 for GPT-2 and BERT (d = 768, T = 512, C = 6400), 0.16 for d = 1024, 0.08 for d = 4096",
    "cos² of random directions is Beta(½, (d − 1)/2), and the largest of 3 million is far out. 0.1 is right for d near "
    "2600; the mean, of which the table's caption speaks, is √(2/πd) = 0.029.",
)
def random_baseline(rng: np.random.Generator) -> Finding:
    """Largest |cos| of 512 and 6400 random directions in 768 dimensions."""
    position, context = rng.standard_normal((512, 768)), rng.standard_normal((6400, 768))
    found = incoherence(position, context, np.arange(6400) % 16)
    mean = compared(found.incoherence_mean, 1e-3, mean_absolute_cosine(768))
    return all_of(compared(found.incoherence_max, 0.06, largest_cosine(768, 512 * 6400), 0.1), mean)


tables = unchecked(
    "SZ-TAB1",
    "Tables 1 to 6",
    "ranks, norms, similarities and incoherence of six trained models on three corpora",
    "Those models and 6 400 windows of those corpora are not here. The claims SZ-RANK, SZ-SMOOTH, SZ-CLUSTER, SZ-ORTHO "
    "and SZ-EQ8 ask the same of the model of a run.",
)

CLAIMS = claims_among(globals())

"""Tokens that dominate a layer without being massive: their hold on its covariance, and measures without them.

A token of five times the usual norm is no massive activation, but in an average of squares it counts twenty-five times:
a dozen of them can be most of a layer's covariance, and then CKA, effective dimension and every share speak of them.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from armillary.measures.layers import TOKENS, cka, sample_gram
from armillary.measures.massive import counted

EVEN = 10.0
"""A token that holds this many times its even share 1/n of a layer's variance dominates there."""

DOMINATED = 0.1
"""A layer is dominated where such tokens together hold more than this share of its variance."""


class Influence(NamedTuple):
    """What each token holds of each layer's variance, which tokens dominate, and measures with and without these."""

    token_variance_share: Float[np.ndarray, "layer sample"]
    dominant_share: Float[np.ndarray, "layer"]
    dominant: Bool[np.ndarray, "sample"]
    participation_ratio: Float[np.ndarray, "layer"]
    participation_ratio_less_dominant: Float[np.ndarray, "layer"]
    cka_debiased_less_dominant: Float[np.ndarray, "layer layer_"]


def influence(
    states: Float[np.ndarray, "layer sample d_model"], massive: Bool[np.ndarray, "sample"], holes: int
) -> Influence:
    """The hold of sampled tokens on each layer's covariance; massive tokens stay out where the run left them out.

    A token's share of the trace is ‖x − mean‖² over its sum: removing it takes that much of the covariance away. Those
    that dominate some layer, found again and again until none does, are left out of all layers in what is measured
    without them. No error: tokens are named, not estimated; the even share is what a cloud without such tokens gives.
    """
    used = np.flatnonzero(counted(massive, holes))
    share = np.full(states.shape[:2], np.nan)
    share[:, used] = variance_shares(states[:, used])
    dominant = np.zeros(len(massive), dtype=bool)
    kept = used
    while (found := dominating(states[:, kept])).any():  # the largest hide the next: look again without them
        dominant[kept[found]] = True
        kept = kept[~found]
    every = sample_gram(thinned(states[:, used]))
    grams = sample_gram(thinned(states[:, kept])) if dominant.any() else every
    return Influence(
        share,
        share[:, dominant].sum(axis=1),
        dominant,
        participation_ratio(every),
        participation_ratio(grams),
        cka(grams).cka_debiased,
    )


def dominating(states: Float[np.ndarray, "layer sample d_model"]) -> Bool[np.ndarray, "sample"]:
    """Tokens far above their even share in a layer where such tokens together hold much of the variance."""
    share = variance_shares(states)
    above = share > EVEN / max(share.shape[1], 1)
    together = np.where(above, share, 0).sum(axis=1)
    return np.asarray(above[together > DOMINATED].any(axis=0))


def thinned(states: Float[np.ndarray, "layer sample d_model"]) -> Float[np.ndarray, "layer token d_model"]:
    """As many of the tokens as the CKA of all of them takes."""
    return states[:, :: max(1, -(-states.shape[1] // TOKENS))]


def variance_shares(states: Float[np.ndarray, "layer sample d_model"]) -> Float[np.ndarray, "layer sample"]:
    """Every token's share of the sum of squared distances from the mean; NaN in a layer whose states are all equal."""
    squares = np.empty(states.shape[:2])
    for layer, sample in enumerate(states):
        centred = sample - sample.mean(axis=0)
        squares[layer] = np.einsum("sd,sd->s", centred, centred)
    total = squares.sum(axis=1, keepdims=True)
    return squares / np.where(total > 0, total, np.nan)


def participation_ratio(grams: Float[np.ndarray, "layer sample sample_"]) -> Float[np.ndarray, "layer"]:
    """(tr C)² / tr C² of the covariance C, from centred inner products: over how many directions variance spreads."""
    traces = np.einsum("lss->l", grams, dtype=np.float64)
    squares = np.array([np.vdot(gram, gram) for gram in grams], dtype=np.float64)
    return traces**2 / np.where(squares > 0, squares, np.nan)


def position_share_less_dominant(share_corrected: float, dominant_share: float) -> float:
    """The position share of the variance that is left when that of dominant tokens is taken out.

    The positional basis stays as it is; only what it is a share of changes.
    """
    return share_corrected / (1 - dominant_share) if dominant_share < 1 else float("nan")

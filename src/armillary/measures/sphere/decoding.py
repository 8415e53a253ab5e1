"""What states decode to: whether the nearest token is the likeliest one, and from which layer on it stays the same."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from armillary.measures.errors.groups import group_mean


class Agreement(NamedTuple):
    """Share of tokens, 0 to 1, and its standard error over documents."""

    argmax_agreement: float
    argmax_agreement_se: float


def argmax_agreement(
    by_logit: Int[np.ndarray, " sample"], by_cosine: Int[np.ndarray, " sample"], group: Int[np.ndarray, " sample"]
) -> Agreement:
    """Share of states whose likeliest token is also the one whose row of W_U has the largest cosine with the state.

    A logit is |w| |h| cos(w, h), plus a bias where the head has one: were all rows of one length and biases equal, the
    share would be 1. The error is a jackknife over `group`, the groups of documents; NaN with fewer than four.
    """
    sizes = np.bincount(group)
    equal = np.bincount(group, by_logit == by_cosine) / np.maximum(sizes, 1)
    share = group_mean(equal, sizes)
    return Agreement(float(share.mean), float(share.se))


def row_variation(norms: Float[np.ndarray, " token"]) -> float:
    """Standard deviation over mean of the norms of the unembedding's rows; 0: logits order tokens as cosines do."""
    return float(norms.std() / norms.mean()) if norms.mean() > 0 else float("nan")


def settled_layer(top: Int[np.ndarray, "layer position"]) -> Int[np.ndarray, " position"]:
    """The layer from which on the likeliest token of a position is that of the last layer."""
    same = np.cumprod((top == top[-1])[::-1], 0).sum(0)
    return np.asarray(len(top) - same)

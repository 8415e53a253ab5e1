"""How similar the layers' states of the same tokens are: CKA, and cosines token by token."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from armillary.measures.massive import counted_states

# Of the sample, evenly spread; all 512 cost four times as much and move debiased CKA by 0.01 on average (smollm2).
TOKENS = 256


class LayerSimilarity(NamedTuple):
    """Cosines between layers, and linear CKA, bias-corrected (to be shown first) and plug-in."""

    layer_cosine: Float[np.ndarray, "layer layer_"]
    cka_debiased: Float[np.ndarray, "layer layer_"]
    cka: Float[np.ndarray, "layer layer_"]


class CKA(NamedTuple):
    """Linear CKA between layers, bias-corrected (to be shown first) and plug-in."""

    cka_debiased: Float[np.ndarray, "layer layer_"]
    cka: Float[np.ndarray, "layer layer_"]


def layer_similarity(
    states: Float[np.ndarray, "layer sample d_model"], massive: Bool[np.ndarray, "sample"], holes: int
) -> LayerSimilarity:
    """`layer_cosine` and `cka` of at most 256 of the sampled tokens.

    No error: the entries of a table of all pairs of layers rest on the same tokens and move together. The null of the
    debiased CKA is 0; the cosine has none, since what the layers share, their mean above all, is what it shows.
    """
    sample = counted_states(states, massive, holes)
    sample = sample[:, :: -(-sample.shape[1] // TOKENS)]
    return LayerSimilarity(layer_cosine(sample), *cka(sample_gram(sample)))


def sample_gram(states: Float[np.ndarray, "layer sample d_model"]) -> Float[np.ndarray, "layer sample sample_"]:
    """Inner products of all pairs of states, centred over the sample, per layer, in the states' own precision."""
    grams = np.empty((len(states), states.shape[1], states.shape[1]), dtype=states.dtype)
    for layer, sample in enumerate(states):
        centred = sample - sample.mean(axis=0)
        np.matmul(centred, centred.T, out=grams[layer])
    return grams


def cka(grams: Float[np.ndarray, "layer sample sample_"]) -> CKA:
    """Linear centred kernel alignment between all pairs of layers, 1 for layers equal up to rotation and scale.

    ⟨K, L⟩/(‖K‖‖L‖) of centred inner products (Kornblith et al. 2019); it grows with d_model/n even for unrelated
    layers. The debiased one puts the unbiased HSIC of Song et al. (2012) in its place, whose expectation is then 0, so
    it may be negative. Show it first. It needs 4 samples, and a layer whose own HSIC is not positive has none: NaN.
    """
    count = grams.shape[1]
    diagonals = np.einsum("lss->ls", grams).astype(np.float64)
    rows = grams.sum(axis=2, dtype=np.float64) - diagonals
    flat = grams.reshape(len(grams), -1)
    products = (flat @ flat.T).astype(np.float64)
    if count < 4:
        return CKA(np.full_like(products, np.nan), _aligned(products))
    totals = rows.sum(axis=1)
    hollow = products - diagonals @ diagonals.T
    unbiased = hollow + np.outer(totals, totals) / ((count - 1) * (count - 2)) - rows @ rows.T * 2 / (count - 2)
    return CKA(_aligned(unbiased), _aligned(products))


def layer_cosine(states: Float[np.ndarray, "layer sample d_model"]) -> Float[np.ndarray, "layer layer_"]:
    """Mean over the sample of the cosine of a token's states in two layers: Song & Zhong, Figure 8 (right).

    Not centred, so a mean that the layers share counts as similarity. NaN for a layer with a zero state.
    """
    squares = np.einsum("lsd,lsd->ls", states, states)
    lengths = np.sqrt(np.where(squares > 0, squares, np.nan))
    unit = (states / lengths[:, :, None]).reshape(len(states), -1)
    return (unit @ unit.T).astype(np.float64) / states.shape[1]


def _aligned(products: Float[np.ndarray, "layer layer_"]) -> Float[np.ndarray, "layer layer_"]:
    own = np.diagonal(products)
    scale = np.sqrt(np.where(own > 0, own, np.nan))
    return products / np.outer(scale, scale)

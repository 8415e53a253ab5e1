"""How alike the layers' states of the same tokens are: CKA, and cosines token by token."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from armillary.measures.similarity import unit_vectors


class CKA(NamedTuple):
    """Linear CKA between layers, without small-sample bias (to be shown first) and as usually computed."""

    cka_debiased: Float[np.ndarray, "layer layer_"]
    cka: Float[np.ndarray, "layer layer_"]


def sample_gram(states: Float[np.ndarray, "layer sample d_model"]) -> Float[np.ndarray, "layer sample sample_"]:
    """Inner products of all pairs of states, centred over the sample, per layer: what CKA and TwoNN both start from."""
    grams = np.empty((len(states), states.shape[1], states.shape[1]))
    for layer, sample in enumerate(states):
        centred = sample - sample.mean(axis=0, dtype=np.float64)
        np.matmul(centred, centred.T, out=grams[layer])
    return grams


def cka(grams: Float[np.ndarray, "layer sample sample_"]) -> CKA:
    """Linear centred kernel alignment between all pairs of layers, 1 for layers equal up to rotation and scale.

    ⟨K, L⟩/(‖K‖‖L‖) of centred inner products (Kornblith et al. 2019); it grows with d_model/n even for unrelated
    layers. The debiased one puts the unbiased HSIC of Song et al. (2012) in its place, whose expectation is then 0, so
    it may be negative. Show it first. It needs 4 samples, and a layer whose own HSIC is not positive has none: NaN.
    """
    count = grams.shape[1]
    diagonals = np.einsum("lss->ls", grams)
    rows = grams.sum(axis=2) - diagonals
    flat = grams.reshape(len(grams), -1)
    products = flat @ flat.T
    if count < 4:
        return CKA(np.full_like(products, np.nan), _aligned(products))
    totals = rows.sum(axis=1)
    hollow = products - diagonals @ diagonals.T
    unbiased = hollow + np.outer(totals, totals) / ((count - 1) * (count - 2)) - rows @ rows.T * 2 / (count - 2)
    return CKA(_aligned(unbiased), _aligned(products))


def layer_cosine(states: Float[np.ndarray, "layer sample d_model"]) -> Float[np.ndarray, "layer layer_"]:
    """Mean over the sample of the cosine of a token's states in two layers: Song & Zhong, Figure 8 (right).

    Not centred, so a mean that the layers share is seen as likeness. NaN for a layer with a zero state.
    """
    unit = unit_vectors(states).reshape(len(states), -1)
    return unit @ unit.T / states.shape[1]


def _aligned(products: Float[np.ndarray, "layer layer_"]) -> Float[np.ndarray, "layer layer_"]:
    own = np.diagonal(products)
    scale = np.sqrt(np.where(own > 0, own, np.nan))
    return products / np.outer(scale, scale)

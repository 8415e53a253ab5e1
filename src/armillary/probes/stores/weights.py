"""One block's weights as they are read, and each head's singular triplets with their planes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from armillary.measures.spectra.factors import folded
from armillary.measures.stores.triplets import Triplets, planes, rank, triplets
from armillary.models.view import View
from armillary.probes.weights import finite, head_arrays


@dataclass(frozen=True)
class BlockWeights:
    """One block's weights, float64: what reads the hidden space and what writes to it, [head, d_model, d_head]."""

    query: Float[np.ndarray, "head d_model d_head"]
    key: Float[np.ndarray, "head d_model d_head"]
    value: Float[np.ndarray, "head d_model d_head"]
    output: Float[np.ndarray, "head d_model d_head"]
    scale: float


@dataclass(frozen=True)
class Store:
    """One head: the triplets of W_QK and W_VO, their ranks, and the planes of near-equal singular values."""

    products: tuple[Triplets, Triplets]
    ranks: tuple[int, int]
    planes: tuple[Int[np.ndarray, "mode 2"], Int[np.ndarray, "mode 2"]]

    def vectors(self, side: int) -> Float[np.ndarray, "d_model mode"]:
        """The singular vectors of one side, of as many modes as the rank."""
        product = self.products[side // 2]
        return (product.left, product.right)[side % 2][:, : self.ranks[side // 2]]


def block_weights(view: View, block: int, fold: bool) -> BlockWeights:
    """A block's weights; folded with the norm before the attention, and with one that its output alone passes."""
    arrays = head_arrays(view, block)
    query, key, value = (arrays[name].values.astype(np.float64) for name in ("W_Q", "W_K", "W_V"))
    output = arrays["W_O"].values.astype(np.float64).swapaxes(1, 2)
    if fold and "gain" in arrays:
        gain, centring = arrays["gain"].values, arrays["centring"]
        query, key, value = (np.stack([folded(W, gain, centring) for W in each]) for each in (query, key, value))
    after = view.norm(block, "after_attention") if fold and view.norm_place in ("branch", "sandwich") else None
    if after is not None:
        site = f"the gain of the norm after the attention of block {block}"
        output = finite(after.gain, ("d_model",), site).values[:, None] * output
    return BlockWeights(query, key, value, output, float(arrays["scale"]))


def head_store(weights: BlockWeights, head: int) -> Store:
    """The triplets of one head."""
    products = (
        triplets(weights.scale * weights.query[head], weights.key[head]),
        triplets(weights.value[head], weights.output[head]),
    )
    d_model = weights.query.shape[1]
    ranks = (rank(products[0].value, d_model), rank(products[1].value, d_model))
    of_planes = (planes(products[0].value, ranks[0]), planes(products[1].value, ranks[1]))
    return Store(products, ranks, of_planes)

"""What a head's triplets cover of the attention's inputs on text, and what its weights cannot see of them."""

import numpy as np
import xarray as xr

from armillary.measures.stores.coverage import coverage, null_space, written_energy
from armillary.models.view import View
from armillary.probes.stores.weights import Store, block_weights, head_store
from armillary.system.threads import one_core_each

NAMES = ("null_share", "null_share_null", "null_share_z", "null_share_centred")


def on_text(
    view: View, block: int, stores: dict[int, Store], inputs: xr.Dataset, folded: bool
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """The coverage of W_VO on text, and the null spaces of both products as stored.

    `inputs` has mean and covariance of what the block's attention receives, after its norm. Folded weights act on the
    state before gain and bias: (x − bias) W_V is what they make of it.
    """
    covariance, mean = (inputs[name].values.astype(np.float64) for name in ("covariance", "mean"))
    stored, norm = block_weights(view, block, False), view.attention_norm(block)
    shift = norm.bias.double().cpu().numpy() if folded and norm is not None else np.zeros_like(mean)
    output = block_weights(view, block, folded).output
    covered, blind = [], []
    with one_core_each():
        for head, store in stores.items():
            written = stored.value[head] @ (output[head].T @ store.products[1].right)
            covered.append(coverage(written_energy(written, covariance, mean - shift)))
            blind.append(null_spaces(head_store(stored, head) if folded else store, covariance, mean))
    per_side = np.pad(np.array(blind), ((0, 0), (0, 0), (0, 1)), constant_values=np.nan)
    found = {name: (("head", "side"), per_side[:, place]) for place, name in enumerate(NAMES)}
    return {"coverage_text": (("head", "mode"), np.array(covered)), **found}


def null_spaces(store: Store, covariance: np.ndarray, mean: np.ndarray) -> list[list[float]]:
    """Share, null, z-score and mean-centred share, each of the query, key and input side."""
    sides = [null_space(store.vectors(side), covariance, mean) for side in range(3)]
    centred = [null_space(store.vectors(side), covariance, np.zeros_like(mean)).share for side in range(3)]
    return [*map(list, zip(*sides, strict=True)), centred]

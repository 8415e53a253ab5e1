"""The groups of a model's stores, one block in memory at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import xarray as xr

from armillary.errors import refuse_outside
from armillary.measures.stores.coverage import SHARES, coverage, needed
from armillary.measures.stores.lexicon import ENDS
from armillary.models.view import View
from armillary.probes.stores.lexicons import Vocabulary, Words, vocabulary, words_of
from armillary.probes.stores.readings import MEASURES, Nulls, Readings, within_subspace
from armillary.probes.stores.text import on_text
from armillary.probes.stores.weights import Store, block_weights, head_store
from armillary.probes.stores.words import block_words, word_dataset
from armillary.results.measuring import described
from armillary.results.schema.stores import PRODUCT_NAMES, SIDE_NAMES
from armillary.surveys.memory import give_back
from armillary.system.threads import side_by_side

TRIPLETS = 5
"""Triplets read of each product."""

Report = Callable[[int], None]


@dataclass(frozen=True)
class Asked:
    """Which heads are read, how many triplets of each, with norms folded or not; words; the seed of the nulls."""

    block: int | None = None
    head: int | None = None
    words: Sequence[str] | None = None
    triplets: int = TRIPLETS
    folded: bool = True
    seed: int = 0

    def blocks(self, view: View) -> list[int]:
        """The blocks to read."""
        return list(range(view.n_blocks)) if self.block is None else [self.block]

    def heads(self, view: View) -> list[int]:
        """The heads to read of each."""
        return list(range(view.n_heads)) if self.head is None else [self.head]


def store_groups(view: View, asked: Asked, inputs: xr.Dataset | None, report: Report) -> dict[str, xr.Dataset]:
    """The groups of a model's stores; `inputs` has mean and covariance of the attentions' inputs on text."""
    known = vocabulary(view, asked.folded)
    words = words_of(view, known, asked.words)
    nulls = (Nulls(known.input, asked.seed), Nulls(known.output, asked.seed))
    every_token = asked.words is not None or asked.block is not None
    found: dict[str, list[xr.Dataset]] = {"stores": [], "store_words": []}
    for block in asked.blocks(view):
        weights, heads = block_weights(view, block, asked.folded), asked.heads(view)
        stores = dict(zip(heads, side_by_side(partial(head_store, weights), heads), strict=True))
        part = block_stores(list(stores.values()), nulls, asked.triplets, [asked.seed, block])
        if inputs is not None:
            part = part.assign(on_text(view, block, stores, inputs.isel(block=block), asked.folded))
        found["stores"].append(part)
        if words is not None:
            found["store_words"].append(
                block_words(weights, stores, words, known, seeds=[asked.seed, block], every_token=every_token)
            )
        give_back()
        report(1)
    along = {"block": asked.blocks(view), "head": asked.heads(view)}
    groups = {"stores": joined(found["stores"], along, known, nulls)}
    if words is not None:
        groups["store_words"] = word_dataset(found["store_words"], along, words, known)
    for name, dataset in groups.items():
        described(name, dataset).attrs.update(about(view, known, words, asked))
    return groups


def refuse_unasked(view: View, asked: Asked) -> None:
    """Refuse a block or head that the model does not have, and a number of triplets that no head has."""
    view.known_family("stores")
    if asked.block is not None:
        refuse_outside("a block", asked.block, 0, view.n_blocks - 1)
    if asked.head is not None:
        refuse_outside("a head", asked.head, 0, view.n_heads - 1)
    refuse_outside("triplets of each head", asked.triplets, 1, min(view.d_head, view.d_model))


def block_stores(stores: list[Store], nulls: tuple[Nulls, Nulls], count: int, seeds: list[int]) -> xr.Dataset:
    """The triplets of one block's heads: singular values, coverage, planes, tokens and peaks."""
    value = np.array([[product.value for product in store.products] for store in stores])
    covered = np.array([[coverage(row**2) for row in pair] for pair in value])
    sizes = np.array([[np.diff(each, axis=1)[:count, 0] for each in store.planes] for store in stores])
    reached = {f"triplets_{round(100 * share)}": np.apply_along_axis(needed, 2, covered, share) for share in SHARES}
    readings = Readings.empty(len(stores), count)

    def read(side: int) -> np.ndarray:
        readings.read(side, stores, nulls[side == 3])
        return within_subspace(side, stores, nulls[side == 3], seeds)

    within = np.stack(side_by_side(read, range(len(SIDE_NAMES))), axis=2)
    readings.set_signs()
    per_product = ("head", "store")
    return xr.Dataset(
        {
            "singular_value": ((*per_product, "triplet"), np.where(sizes > 0, value[..., :count], np.nan)),
            "coverage": ((*per_product, "mode"), covered),
            **{name: (per_product, counts) for name, counts in reached.items()},
            "plane": ((*per_product, "triplet"), sizes),
            **readings.variables(),
            **{f"{name}_subspace_z": (("head", "side"), z) for name, z in zip(MEASURES, within, strict=True)},
        }
    )


def joined(
    blocks: list[xr.Dataset], along: dict[str, list[int]], known: Vocabulary, nulls: tuple[Nulls, Nulls]
) -> xr.Dataset:
    """The blocks along one axis, with the texts of their tokens and the names of all axes."""
    whole = xr.concat(blocks, dim="block", data_vars="all", join="outer")
    whole = whole.assign(text=(whole["token"].dims, known.texts(whole["token"].values)))
    for place, name in enumerate(MEASURES):
        of_sides = [nulls[side == 3].of(1)[place] for side in range(len(SIDE_NAMES))]
        whole[f"{name}_point_z"] = ("side", np.array([float(null.z(null.point)) for null in of_sides]))
    names = {"store": list(PRODUCT_NAMES), "side": list(SIDE_NAMES), "end": list(ENDS)}
    counted = {axis: np.arange(1, whole.sizes[axis] + 1) for axis in ("triplet", "mode", "rank")}
    return whole.assign_coords(along | names | counted)


def about(view: View, known: Vocabulary, words: Words | None, asked: Asked) -> dict[str, str]:
    """How directions were read, and what is to be known about this model, in words."""
    notes = [
        "queries and keys are normalised, so W_QK alone does not make the scores" if not view.heads(0).bilinear else "",
        "W_QK is that of distance 0: RoPE rotates it with the distance" if view.position == "rope" else "",
        "the head transforms the state before the unembedding"
        if known.read_by != "embeddings" and not view.model.can_generate()
        else "",
        f"{words.divided} of {len(words.texts)} words have several tokens, averaged"
        if words is not None and words.divided
        else "",
    ]
    norms = "gain and centring of the norms" if known.centring else "gain of the norms"
    return {
        "folded": str(asked.folded).lower(),
        "reading": f"input by embeddings, output by {known.read_by}; "
        + (f"{norms} folded in" if asked.folded else "weights and embeddings as stored"),
        "sign": "the token nearest to the right singular vector's line is at its positive end",
        "note": "; ".join(filter(None, notes)),
    }

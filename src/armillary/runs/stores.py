"""Read the heads of a model as stores: their singular triplets as tokens, with no pass of the model."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import xarray as xr

from armillary.models.view import View
from armillary.probes.stores.groups import TRIPLETS, Asked, refuse_unasked, store_groups
from armillary.results.store import Run
from armillary.runs.keeping import kept, refuse_unfit
from armillary.system.progress import progress_of


def stores(
    view: View,
    run: Run | None = None,
    *,
    block: int | None = None,
    head: int | None = None,
    words: Sequence[str] | None = None,
    triplets: int = TRIPLETS,
    folded: bool = True,
    out: str | Path | None = None,
    seed: int = 0,
    progress: bool = True,
    report: bool = True,
) -> Run:
    """The singular triplets of every head's W_QK and W_VO read as tokens, what they cover, and words sent through.

    Nothing runs through the model. With `run`, a run of this model, the results are added to it, and where it holds the
    covariance of the attentions' inputs also what triplets cover on text. With `out` they are written to that folder,
    which gets a page unless `report` is False. `block` and `head` are read alone where nothing is kept; what is kept is
    of all heads. `triplets` are read of each product, with the norms `folded` into the weights or not. `words` replace
    the built-in list, `seed` draws the nulls; the tokens do not depend on it. `progress` shows the blocks that are
    done.
    """
    refuse_unfit(run, view, out)
    asked = Asked(block, head, words, triplets, folded, seed)
    refuse_unasked(view, asked)
    if run is not None or out is not None:
        asked = replace(asked, block=None, head=None)
    with progress_of(f"{view.name}: stores", len(asked.blocks(view)), show=progress) as advance:
        groups = store_groups(view, asked, inputs_of(run), advance)
    return kept(groups, view, run, out=out, report=report, seed=seed)


def inputs_of(run: Run | None) -> xr.Dataset | None:
    """Mean and covariance of the attentions' inputs, where a run holds them."""
    if run is None or "attention" not in run.results.children:
        return None
    held = run.results["attention"].to_dataset()
    return held[["mean", "covariance"]] if "covariance" in held else None

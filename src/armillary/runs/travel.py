"""Follow one text through a model: its states on the sphere, layer by layer."""

from pathlib import Path
from typing import Any

from armillary.models.view import View
from armillary.probes.travel import refuse_unfit as refuse_impossible
from armillary.probes.travel import travel_groups
from armillary.prompts.ids import prompt_ids
from armillary.results.store import Run
from armillary.runs.keeping import kept, refuse_unfit
from armillary.system.progress import say
from armillary.system.texts import escaped


def travel(
    view: View,
    text: Any,
    run: Run | None = None,
    *,
    out: str | Path | None = None,
    seed: int = 0,
    lens: bool | None = None,
    umap: bool = False,
    progress: bool = True,
    report: bool = True,
) -> Run:
    """The paths of a text's tokens over the sphere, what each state decodes to, and where they stand in 3-D.

    `text` may also be a row of token ids. Every state goes through the model's own final norm. Beside angles and path
    lengths stand those of the random-weight control, drawn with `seed`. `lens` decodes states by the model's own head,
    by default where it has one. `umap` adds UMAP in 3-D (extra `umap`). With `run`, a run of this model, /travel is
    added to it; with `out` it is written to that folder, which gets a page too unless `report` is False.
    `progress` says which pass is running.
    """
    refuse_unfit(run, view, out)
    refuse_impossible(view, lens=lens, umap=umap)
    ids = prompt_ids(view, text)
    if progress:
        say(f"{view.name}: {len(ids)} tokens through {view.n_blocks} blocks, and through the random-weight control")
    groups = travel_groups(view, ids, seed=seed, lens=lens, umap=umap)
    words = escaped(text) if isinstance(text, str) else " ".join(groups["travel"].text.values.tolist())
    groups["travel"].attrs["source"] = words
    return kept(groups, view, run, out=out, report=report, seed=seed)

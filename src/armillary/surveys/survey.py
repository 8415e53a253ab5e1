"""A survey: a text goes once through a model, and a run comes out."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from armillary.corpora import Windows
from armillary.corpora.tokens import token_text
from armillary.errors import StoreError
from armillary.measures.massive import TIMES
from armillary.models.view import View
from armillary.results import measuring as results
from armillary.results import store
from armillary.results.store import STATES, Run
from armillary.surveys.checkpoint import Checkpoint
from armillary.surveys.engines.local import local
from armillary.surveys.head_tables import head_dataset
from armillary.surveys.memory import refuse_if_too_large
from armillary.surveys.plan import PILOT_TOKENS, Plan
from armillary.surveys.preparing import Prepared, prepared
from armillary.surveys.settings import Settings
from armillary.surveys.sums.shelf import Damaged
from armillary.surveys.tables import captured_groups
from armillary.system.files import sweep
from armillary.system.locking import alone
from armillary.system.progress import progress as progress_bar
from armillary.system.progress import say
from armillary.system.surroundings import surroundings
from armillary.system.texts import escaped, numbered


def surveyed(view: View, source: Any, chosen: Settings, *, folder: Path | None, resume: bool, progress: bool) -> Run:
    """The run of one pass: in a folder, checkpointed after each shard, or in memory."""
    survey = prepared(view, source, chosen)
    refuse_if_too_large(survey.memory, chosen.max_memory)
    if folder is None:
        groups = pass_groups(view, survey, None, progress=progress)
        attributes = {**provenance(view, survey), "armillary_format": store.FORMAT}
        return Run(store.tree_of({**groups, **results.measured(groups)}, attributes))
    checkpoint = Checkpoint(folder / "checkpoint", survey.fingerprint)
    with alone(checkpoint.folder, "a survey"):
        sweep(folder)
        try:
            if not finished(folder, checkpoint, resume=resume):
                groups = pass_groups(view, survey, checkpoint, progress=progress)
                measure_and_write(folder, groups, provenance(view, survey))
            checkpoint.remove()
        finally:
            checkpoint.leave()
    return store.open(folder)


def finished(folder: Path, checkpoint: Checkpoint, *, resume: bool) -> bool:
    """Whether the folder already holds this very run; refuses a folder that holds another, or half of one."""
    if (folder / STATES).exists():
        if resume and store.open(folder).provenance.get("fingerprint") == checkpoint.fingerprint:
            return True
        raise StoreError(
            f"expected a folder without a run, got {folder}, which already holds one: choose another --out, or remove "
            f"that folder"
        )
    if not resume and checkpoint.exists():
        raise StoreError(
            f"expected a folder without a run, got {folder}, which holds an unfinished one: add --resume to resume it, "
            f"or choose another --out"
        )
    return False


def pass_groups(
    view: View, survey: Prepared, checkpoint: Checkpoint | None, *, progress: bool
) -> dict[str, xr.Dataset]:
    """Run the model over the windows: all that measures are made from."""
    if progress:
        announce(view, survey)
    plan, label = survey.plan, f"{view.name} on {survey.windows.provenance['corpus']}"
    attention = plan.sites == "all" and view.attentions is not None
    folder = checkpoint.folder.parent if checkpoint else None
    try:
        with progress_bar(label, *plan.tokens.shape, show=progress) as advance:
            state, first = local(view, plan, advance, checkpoint, rest=survey.rest)
        captured = captured_groups(state, plan, first, attention=attention, folder=folder)
    except Damaged as error:
        raise StoreError(
            f"cannot read back sums of this survey from the disk ({error}): check the disk, then add --resume"
        ) from error
    if state.heads is not None:
        captured["head_groups"] = head_dataset(state.heads, plan.tokens.shape[1])
    del state
    return finished_groups(captured, survey.windows, plan, view.tokenizer)


def announce(view: View, survey: Prepared) -> None:
    """Say what is about to be read, what was too short for it, and how much memory it will take."""
    drawn = survey.windows
    contexts, length = drawn.tokens.shape
    say(
        f"{view.name} on {drawn.provenance['corpus']}: {numbered(contexts, 'window')} of {length} tokens from "
        f"{numbered(len(drawn.documents), 'document')}, about {survey.memory / 1e9:.2f} GB of memory beyond the model"
        + (", sums on disk" if survey.rest else "")
    )
    if drawn.too_short:
        shown = ", ".join(escaped(name) for name in drawn.too_short[:5])
        more = ", …" if len(drawn.too_short) > 5 else ""
        say(f"{len(drawn.too_short)} documents are shorter than one window and were skipped: {shown}{more}")


def provenance(view: View, survey: Prepared) -> dict[str, Any]:
    """What a run says about its making."""
    plan = survey.plan
    return {
        **view.provenance,
        **{key: value for key, value in asdict(survey.chosen).items() if value is not None},
        **survey.windows.provenance,
        "groups": f"{len(np.unique(plan.groups))} groups, {survey.grouping}",
        "outlier_rule": f"norm over {TIMES:g} times the layer's median of the first {plan.pilot} windows "
        f"({PILOT_TOKENS} tokens), in any layer",
        "memory_estimate_bytes": survey.memory,
        "too_short": escaped(", ".join(survey.windows.too_short)),
        "fingerprint": survey.fingerprint,
        **surroundings(),
    }


def finished_groups(
    captured: dict[str, xr.Dataset], drawn: Windows, plan: Plan, tokenizer: Any
) -> dict[str, xr.Dataset]:
    """The captured groups with the corpus, texts and coordinates: all that measures are made from."""
    captured["corpus"] = xr.Dataset(
        {
            "tokens": (("context", "position"), drawn.tokens.astype(np.int32)),
            "document_index": ("context", drawn.document),
            "document_name": ("document", np.array([escaped(name) for name in drawn.documents], dtype=str)),
            "offset": ("context", drawn.offset),
            "group": ("context", plan.groups),
            "shift": ("context", plan.shifts),
        }
    )
    for name in ("outliers", "sample"):
        axis = "outlier" if name == "outliers" else "sample"
        texts = [token_text(tokenizer, int(token)) for token in captured[name].token.values]
        captured[name] = captured[name].assign(text=(axis, np.array(texts, dtype=str)))
    return {name: results.described(name, dataset) for name, dataset in captured.items()}


def measure_and_write(folder: Path, groups: dict[str, xr.Dataset], about: dict[str, Any]) -> None:
    """All that is measured from the groups, and the files of both. The states go to disk while the measures are made.

    Their file appears last: it says that a run is whole.
    """
    with store.draft(folder, STATES, about) as states, ThreadPoolExecutor(1) as beside:
        begun = beside.submit(states.add, store.by_file(groups)[STATES])
        measured = results.measured(groups)
        begun.result()
        states.add(store.by_file(measured)[STATES])
        for file, parts in store.by_file({**groups, **measured}).items():
            if file != STATES:
                store.write(folder, file, parts, about)
        states.publish()

"""A survey: a text goes once through a model, and a run comes out."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import partial
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
from armillary.surveys.engines import engine
from armillary.surveys.head_tables import head_dataset
from armillary.surveys.memory import refuse_if_too_large
from armillary.surveys.parts import survey_part
from armillary.surveys.pilot import Pilot
from armillary.surveys.plan import PILOT_TOKENS, Plan
from armillary.surveys.preparing import Prepared, prepared, reads_attention
from armillary.surveys.settings import Settings
from armillary.surveys.shard import Report
from armillary.surveys.stopping import Until, never
from armillary.surveys.sums.shelf import Damaged
from armillary.surveys.sums.state import State
from armillary.surveys.tables import captured_groups
from armillary.system.files import sweep
from armillary.system.locking import alone
from armillary.system.progress import progress as progress_bar
from armillary.system.progress import say
from armillary.system.surroundings import surroundings
from armillary.system.texts import escaped, numbered

Pass = Callable[[Checkpoint | None], tuple[dict[str, xr.Dataset], dict[str, Any]]]
"""What makes a run: all that measures are made from, and what the run says about its making."""


def surveyed(view: View, source: Any, chosen: Settings, *, folder: Path | None, resume: bool, progress: bool) -> Run:
    """The run of one pass: in a folder, checkpointed after each shard, or in memory. Or a part of it, to be merged."""
    survey = prepared(view, source, chosen)
    refuse_if_too_large(survey.memory, chosen.max_memory)
    label = f"{view.name} on {survey.windows.provenance['corpus']}"
    bar = partial(progress_bar, label, *survey.plan.tokens.shape, show=progress)
    if chosen.shard is not None:
        if progress:
            announce(view, survey)
        with bar() as advance:
            return survey_part(view, survey, folder, advance, resume=resume)

    def work(checkpoint: Checkpoint | None) -> tuple[dict[str, xr.Dataset], dict[str, Any]]:
        if progress:
            announce(view, survey)
        return one_pass(view, survey, checkpoint, bar)

    run = made(work, survey, folder, resume=resume)
    if progress and "stopped" in run.provenance:
        say(run.provenance["stopped"])
    return run


def made(work: Pass, survey: Prepared, folder: Path | None, *, resume: bool) -> Run:
    """The run that a pass makes: measured, and written to a folder where one is given, in which nobody else works."""
    if folder is None:
        groups, about = work(None)
        attributes = {**about, "armillary_format": store.FORMAT}
        return Run(store.tree_of({**groups, **results.measured(groups)}, attributes))
    checkpoint = Checkpoint(folder / "checkpoint", survey.fingerprint)
    with alone(checkpoint.folder, "a survey"):
        sweep(folder)
        try:
            if not finished(folder, checkpoint, resume=resume):
                measure_and_write(folder, *work(checkpoint))
            checkpoint.remove()
        finally:
            checkpoint.leave()
    return store.open(folder)


def finished(folder: Path, checkpoint: Checkpoint, *, resume: bool) -> bool:
    """Whether the folder already holds this very run; refuses a folder that holds another, or half of one."""
    held = resume and (folder / STATES).exists()
    if held and store.open(folder).provenance.get("fingerprint") == checkpoint.fingerprint:
        return True
    store.refuse_surveyed(folder)
    if not resume and checkpoint.exists():
        raise StoreError(
            f"expected a folder without a run, got {folder}, which holds an unfinished one: add --resume to resume it, "
            f"or choose another --out"
        )
    return False


def one_pass(
    view: View, survey: Prepared, checkpoint: Checkpoint | None, bar: Callable[[], AbstractContextManager[Report]]
) -> tuple[dict[str, xr.Dataset], dict[str, Any]]:
    """Run the model over the windows, all of them or until there are enough."""
    until = Until(survey.plan, survey.chosen.until_se) if survey.chosen.until_se is not None else None
    run, folder = engine(survey.chosen), checkpoint.folder.parent if checkpoint else None
    try:
        with bar() as advance:
            state, first = run(view, survey.plan, advance, checkpoint, rest=survey.rest, enough=until or never)
        if until is not None:
            survey = survey.first_windows(*until.account(state))
        groups = tabulated(state, first, survey, attention=reads_attention(view, survey.plan), folder=folder)
    except Damaged as error:
        raise StoreError(
            f"cannot read back sums of this survey from the disk ({error}): check the disk, then add --resume"
        ) from error
    del state
    groups = finished_groups(groups, survey.windows, survey.plan, partial(token_text, view.tokenizer))
    return groups, provenance(view.provenance, survey)


def tabulated(
    state: State, first: Pilot, survey: Prepared, *, attention: bool, folder: Path | None
) -> dict[str, xr.Dataset]:
    """What a pass summed as labelled arrays; the state is given up, and what is large goes to `folder`."""
    captured = captured_groups(state, survey.plan, first, attention=attention, folder=folder)
    if state.heads is not None:
        captured["head_groups"] = head_dataset(state.heads, survey.plan.tokens.shape[1])
    return captured


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
        one = len(drawn.too_short) == 1
        said = "1 document is" if one else f"{len(drawn.too_short)} documents are"
        say(f"{said} shorter than one window and {'was' if one else 'were'} skipped: {shown}{more}")


def provenance(model: Mapping[str, Any], survey: Prepared) -> dict[str, Any]:
    """What a run says about its making, from what its model says of itself."""
    plan = survey.plan
    return {
        **model,
        **{key: value for key, value in asdict(survey.chosen).items() if value is not None},
        **survey.windows.provenance,
        "groups": f"{len(np.unique(plan.groups))} groups, {survey.grouping}",
        "outlier_rule": f"norm over {TIMES:g} times the layer's median of the first {plan.pilot} windows "
        f"({PILOT_TOKENS} tokens), in any layer",
        "memory_estimate_bytes": survey.memory,
        "too_short": escaped(", ".join(survey.windows.too_short)),
        "fingerprint": survey.fingerprint,
        **({"stopped": survey.stopped} if survey.stopped else {}),
        **surroundings(),
    }


def finished_groups(
    captured: dict[str, xr.Dataset], drawn: Windows, plan: Plan, text: Callable[[int], str]
) -> dict[str, xr.Dataset]:
    """The captured groups with the corpus, the texts of tokens and coordinates: all that measures are made from."""
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
        texts = [text(int(token)) for token in captured[name].token.values]
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

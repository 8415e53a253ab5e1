"""A survey: a text goes once through a model, and a run comes out."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from armillary.corpora import Groups, Windows, corpus, groups, windows
from armillary.corpora.tokens import token_text
from armillary.errors import StoreError, reason
from armillary.measures.massive import TIMES
from armillary.models.view import View
from armillary.results import measuring as results
from armillary.results import store
from armillary.results.store import STATES, Run
from armillary.surveys.checkpoint import Checkpoint
from armillary.surveys.engines.local import local
from armillary.surveys.head_tables import head_dataset
from armillary.surveys.memory import Shape, estimate, refuse_if_too_large
from armillary.surveys.plan import PILOT_TOKENS, Plan, batch_size
from armillary.surveys.settings import Settings
from armillary.surveys.tables import captured_groups
from armillary.system.progress import progress as progress_bar
from armillary.system.progress import say
from armillary.system.surroundings import surroundings
from armillary.system.texts import escaped


def surveyed(view: View, source: Any, chosen: Settings, *, folder: Path | None, resume: bool, progress: bool) -> Run:
    """The run of one pass: in a folder, checkpointed after each shard, or in memory."""
    if chosen.heads:
        view.known_family("heads")
    drawn, rule = ordered(draw(view, source, chosen))
    plan = plan_of(drawn, rule.index, chosen)
    needed = estimate(plan, shape_of(view, plan))
    refuse_if_too_large(needed)
    fingerprint = plan.fingerprint(identity(view))
    if folder is not None and finished(folder, fingerprint, resume):
        return store.open(folder)
    checkpoint = Checkpoint(folder / "checkpoint", fingerprint) if folder is not None else None
    if progress:
        announce(view, drawn, needed)
    with progress_bar(f"{view.name} on {drawn.provenance['corpus']}", *plan.tokens.shape, show=progress) as advance:
        state, medians = local(view, plan, advance, checkpoint)
    captured = captured_groups(state, plan, medians, attention=chosen.sites == "all" and view.attentions is not None)
    if state.heads is not None:
        captured["head_groups"] = head_dataset(state.heads, plan.tokens.shape[1])
    del state
    groups = finished_groups(captured, drawn, plan, view.tokenizer)
    about = {
        **view.provenance,
        **{key: value for key, value in asdict(chosen).items() if value is not None},
        **drawn.provenance,
        "groups": f"{len(np.unique(plan.groups))} groups, {rule.rule}",
        "outlier_rule": f"norm over {TIMES:g} times the layer's median of the first {plan.pilot} windows "
        f"({PILOT_TOKENS} tokens), in any layer",
        "memory_estimate_bytes": needed,
        "too_short": escaped(", ".join(drawn.too_short)),
        "fingerprint": fingerprint,
        **surroundings(),
    }
    if folder is None:
        return Run(store.tree_of({**groups, **results.measured(groups)}, {**about, "armillary_format": store.FORMAT}))
    measure_and_write(folder, groups, about)
    if checkpoint is not None:
        checkpoint.remove()
    return store.open(folder)


def announce(view: View, drawn: Windows, needed: int) -> None:
    """Say what is about to be read, what was too short for it, and how much memory it will take."""
    contexts, length = drawn.tokens.shape
    say(
        f"{view.name} on {drawn.provenance['corpus']}: {contexts} windows of {length} tokens from "
        f"{len(drawn.documents)} documents, about {needed / 1e9:.2f} GB of memory beyond the model"
    )
    if drawn.too_short:
        shown = ", ".join(escaped(name) for name in drawn.too_short[:5])
        more = ", …" if len(drawn.too_short) > 5 else ""
        say(f"too short for a window: {len(drawn.too_short)} documents ({shown}{more})")


def draw(view: View, source: Any, chosen: Settings) -> Windows:
    """The windows that the settings ask for."""
    text = source if hasattr(source, "name") and not isinstance(source, str | Path) else corpus(source)
    return windows(
        text,
        view.tokenizer,
        contexts=chosen.contexts,
        length=chosen.length,
        seed=chosen.seed,
        bos=chosen.bos,  # type: ignore[arg-type]  # checked by Settings
        crossing=chosen.crossing,
        documents=chosen.documents,
        per_document=chosen.per_document,
        vocab_size=view.backbone.get_input_embeddings().num_embeddings,
        max_length=view.max_length,
    )


def ordered(drawn: Windows) -> tuple[Windows, Groups]:
    """The windows sorted by group, document and offset, and their groups in that order."""
    rule = groups(drawn)
    order = np.lexsort((drawn.offset, drawn.document, rule.index))
    moved = replace(drawn, tokens=drawn.tokens[order], document=drawn.document[order], offset=drawn.offset[order])
    return moved, replace(rule, index=rule.index[order])


def plan_of(drawn: Windows, index: np.ndarray, chosen: Settings) -> Plan:
    """What the pass will do."""
    return Plan(
        tokens=drawn.tokens,
        groups=index,
        seed=chosen.seed,
        first=chosen.first,
        outliers=chosen.outliers,
        scatter=chosen.covariance,
        sites=chosen.sites,
        batch=batch_size(drawn.tokens.shape[1], chosen.batch),
        heads=chosen.heads,
    )


def shape_of(view: View, plan: Plan) -> Shape:
    """What the pass will hold: in a post-norm model the attentions receive the residual stream itself."""
    apart = plan.sites == "all" and view.attentions is not None and view.norm_place != "post"
    heads = view.n_blocks * view.n_heads if plan.heads else 0
    return Shape(view.n_blocks + 1, view.d_model, view.n_blocks if apart else 0, heads)


def identity(view: View) -> str:
    """What of the model must agree for two passes to give the same numbers."""
    keys = ("model_sha256", "dtype", "device", "attn_implementation", "random_weights")
    return hashlib.sha256(repr([view.provenance.get(key) for key in keys]).encode()).hexdigest()


def finished(folder: Path, fingerprint: str, resume: bool) -> bool:
    """Whether the folder already holds this very run; refuses a folder that holds another, or half of one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder {folder} ({reason(error)}): choose another --out") from error
    if (folder / STATES).exists():
        if resume and store.open(folder).provenance.get("fingerprint") == fingerprint:
            Checkpoint(folder / "checkpoint", fingerprint).remove()
            return True
        raise StoreError(f"{folder} already holds a run: choose another --out, or remove that folder")
    if not resume and Checkpoint(folder / "checkpoint", fingerprint).exists():
        raise StoreError(f"{folder} holds an unfinished run: add --resume to go on, or choose another --out")
    return False


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

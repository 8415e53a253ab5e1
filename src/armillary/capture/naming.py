"""Names for the heads of a run: the repeated-token test and its null, each a pass of its own over a few windows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Int

from armillary import results, store
from armillary.capture.constituents import shares
from armillary.capture.pattern_sums import SCALARS
from armillary.capture.reading_attention import reading_heads
from armillary.capture.repeats import SCORES, repeat_scores, repeated_windows
from armillary.errors import RequestError, SourceError
from armillary.measures.taxonomy import LOCAL_SPANS
from armillary.models import View, load
from armillary.progress import progress as progress_bar
from armillary.progress import say
from armillary.schema import GROUPS
from armillary.store import Run

TEXT_WINDOWS = 16
"""How many of the run's own windows the twin reads."""

SHARE_WINDOWS = 8
"""From how many of the run's windows the shares of constituents are taken."""

TWIN_SEED = 1_000_003
"""Added to the run's seed: a run of a random twin is not compared with itself."""


def heads(run: Run, view: View | None = None, *, progress: bool = True, **options: Any) -> Run:
    """The run with its heads named: induction, duplicate, previous, sink, local, uniform, each score beside its null.

    Reads a few windows of random tokens that come twice, with the model and with its random twin, and a few of the
    run's own windows with the twin; then, where the run has the attentions' inputs, a few of its windows once more with
    the model, for the shares of the nine constituents in the logits. The model is loaded again from where the run says
    it came, with `options` as in `load`, unless `view` gives it. What was named before is not read again; a run in a
    folder keeps it there.
    """
    if "heads" not in run.results:
        raise RequestError(f"{shown(run)} was surveyed without heads: survey again with --heads (heads=True)")
    if "taxonomy" in run.results:
        return run
    view = reloaded(run, **options) if view is None else view
    refuse_another(run, view)
    tokens = run.results["corpus"].tokens.values.astype(np.int64)
    prefix = shared_prefix(tokens)
    seed = int(run.provenance["seed"])
    repeated = repeated_windows(view, prefix, seed=seed)
    text = tokens[np.unique(np.linspace(0, len(tokens) - 1, TEXT_WINDOWS).round().astype(int))]
    if progress:
        say(
            f"{view.name}: the repeated-token test reads {len(repeated)} windows of {repeated.shape[1]} tokens with "
            f"the model and with its random twin, and {len(text)} windows of the run's text with the twin"
        )
    with progress_bar(view.name, 2 * len(repeated), repeated.shape[1], show=progress) as report:
        found = {"repeats": repeat_dataset(view, repeated, text, len(prefix), seed + TWIN_SEED, report)}
    if "attention" in run.results:
        if progress:
            say(f"{view.name}: the constituents of the logits are read in {min(SHARE_WINDOWS, len(tokens))} windows")
        found["constituents"] = shares(view, run, windows=SHARE_WINDOWS)
    return with_names(run, found)


def shown(run: Run) -> str:
    """How to speak of a run."""
    return str(run.folder) if run.folder else "this run"


def reloaded(run: Run, **options: Any) -> View:
    """The run's model, loaded again from its provenance."""
    about = run.provenance
    if about["model_kind"] == "loaded model":
        raise RequestError(f"{shown(run)} was made of a model in memory: give it, heads(run, view)")
    twin = str(about["random_weights"]).removeprefix("seed ")
    return load(
        about["model"],
        dtype=about["dtype"],
        device=about["device"],
        revision=about["revision"] or None,
        random_weights=int(twin) if twin else None,
        **options,
    )


def refuse_another(run: Run, view: View) -> None:
    """Refuse a model that is not the one the run was made of."""
    then, now = run.provenance["model_sha256"], view.provenance["model_sha256"]
    if then and now and then != now:
        raise SourceError(
            f"expected the model that {shown(run)} was made of (sha256 {then[:12]}…), came another ({now[:12]}…): "
            f"survey again, or give the old one"
        )


def shared_prefix(tokens: Int[np.ndarray, "context position"]) -> tuple[int, ...]:
    """The first token where all windows begin with the same one, as with a BOS or CLS."""
    first = np.unique(tokens[:, 0])
    return (int(first[0]),) if len(first) == 1 and len(tokens) > 1 else ()


def repeat_dataset(
    view: View,
    repeated: Int[np.ndarray, "repeat twice"],
    text: Int[np.ndarray, "context position"],
    prefix: int,
    seed: int,
    report: Callable[[int], None],
) -> xr.Dataset:
    """The group /repeats: scores of the model by window, those of its twin, and the twin's masses on text."""
    own = repeat_scores(view, repeated, prefix, report)
    twin = load(view.model, random_weights=seed, check=False)
    null = repeat_scores(twin, repeated, prefix, report).mean(-1)
    first, local = text_masses(twin, text)
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
        f"{name}_repeats": (("block", "head", "repeat"), own[i]) for i, name in enumerate(SCORES)
    }
    variables |= {f"{name}_twin": (("block", "head"), null[i]) for i, name in enumerate(SCORES)}
    variables |= {"mass_first_twin": (("block", "head"), first), "mass_local_twin": (("block", "head"), local)}
    return xr.Dataset(variables)


@torch.inference_mode()
def text_masses(view: View, tokens: Int[np.ndarray, "context position"]) -> tuple[np.ndarray, np.ndarray]:
    """Attention on position 0 and within 4 tokens, per block and head, over some windows."""
    total = None
    with reading_heads(view, skipped=1, drop=True) as read:
        for window in torch.from_numpy(tokens):
            view.backbone(input_ids=window[None].to(view.device), use_cache=False)
            seen = read.take(view.n_blocks, (0,))
            total = seen if total is None else total.merge(seen)
    assert total is not None
    count = total.windows[0]
    scalars, profile = total.scalars[0] / count, total.profile[0] / count
    return scalars[..., SCALARS.index("mass_first")].numpy(), profile[..., :LOCAL_SPANS].sum(-1).numpy()


def with_names(run: Run, found: dict[str, xr.Dataset]) -> Run:
    """The run with what was found and the names that follow, kept in its folder where it has one."""
    groups = {name: results.described(name, dataset) for name, dataset in found.items()}
    inputs = {name: run.results[name].to_dataset() for name in ("heads", "head_groups")}
    groups["taxonomy"] = results.measured({"repeats": groups["repeats"], **inputs})["taxonomy"]
    if run.folder is not None:
        store.write(run.folder, GROUPS["taxonomy"].file, groups, run.provenance)
        return store.open(run.folder)
    before = {name: node.to_dataset() for name, node in run.results.children.items()}
    return Run(store.tree_of({**before, **groups}, run.provenance))

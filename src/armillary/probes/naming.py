"""Names for the heads of a run, by the repeated-token test and its null, and what position does in every head."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Int

from armillary.attention.pattern_sums import SCALARS
from armillary.attention.reading import reading_heads
from armillary.errors import RequestError, SourceError
from armillary.measures.taxonomy import LOCAL_SPANS
from armillary.models import View, load
from armillary.probes.constituents import shares
from armillary.probes.dissection import RANK, weight_dissection
from armillary.probes.qk_smoothness import qk_smoothness
from armillary.probes.repeats import SCORES, repeat_scores, repeated_windows
from armillary.probes.six_panels import six_panels
from armillary.results import measuring as results
from armillary.results import store
from armillary.results.schema import GROUPS
from armillary.results.store import Run
from armillary.system.progress import progress as progress_bar
from armillary.system.progress import say
from armillary.system.threads import one_core_each

TEXT_WINDOWS = 16
"""How many of the run's own windows the twin reads."""

SHARE_WINDOWS = 8
"""From how many of the run's windows the shares of constituents and the smoothness of logits are taken."""

INPUTS = ("constituents", "dissection", "qk_smoothness", "six_panels")
"""The groups that need the attentions' inputs, in the order in which they are made."""

TWIN_SEED = 1_000_003
"""Added to the run's seed: a run of a random twin is not compared with itself."""


def named(run: Run, view: View | None = None, *, progress: bool = True, **options: Any) -> Run:
    """The run with its heads named: induction, duplicate, previous, sink, local, uniform, each score beside its null.

    Reads a few windows of random tokens that come twice, with the model and with its random twin, and a few of the
    run's own windows with the twin; then, where the run has the attentions' inputs, a few of its windows once more with
    the model, for what position does in every head: the shares of the nine constituents in the logits, the weights
    along the position directions, the smoothness of the scores, and an example of one head. The model is loaded again
    from where the run says it came, with `options` as in `load`, unless `view` gives it. What is there is not read
    again, what an earlier version did not know is added; a run in a folder keeps it there.
    """
    if "heads" not in run.results:
        raise RequestError(f"{shown(run)} was surveyed without heads: survey again with --heads (heads=True)")
    missing = missing_groups(run)
    if not missing or ("taxonomy" in run.results and view is None and of_memory(run)):
        return run
    view = reloaded(run, **options) if view is None else view
    refuse_another(run, view)
    found = {"repeats": repeats(view, run, progress)} if "repeats" in missing else {}
    if "attention" in run.results:
        found |= positional(view, run, missing, progress)
    return with_names(run, found)


def missing_groups(run: Run) -> list[str]:
    """What the run could hold of its heads and does not."""
    wanted = ("repeats", "taxonomy", *(INPUTS if "attention" in run.results else ()))
    return [name for name in wanted if name not in run.results]


def repeats(view: View, run: Run, progress: bool) -> xr.Dataset:
    """The repeated-token test of the run's model and of its random twin."""
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
        return repeat_dataset(view, repeated, text, len(prefix), seed + TWIN_SEED, report)


def positional(view: View, run: Run, missing: list[str], progress: bool) -> dict[str, xr.Dataset]:
    """What is missing of the groups that need the attentions' inputs; each is announced before it is made."""
    windows = min(SHARE_WINDOWS, run.results["corpus"].sizes["context"])
    # The position vectors add up to zero: of so many positions one direction less can be found.
    rank = max(1, min(RANK, view.d_model, run.results["attention"].sizes["position"] - 1))
    groups = {name: run.results[name].to_dataset() for name in INPUTS if name in run.results}
    steps: dict[str, tuple[str, Callable[[], xr.Dataset]]] = {
        "constituents": (
            f"the constituents of the logits are read in {windows} windows",
            lambda: shares(view, run, windows=windows),
        ),
        "dissection": (
            f"the weights of every head are taken apart along {rank} position directions",
            lambda: weight_dissection(view, run, rank=rank),
        ),
        "qk_smoothness": (
            f"the smoothness of positions and logits is read in {windows} windows",
            lambda: qk_smoothness(view, run, windows=windows),
        ),
        "six_panels": (
            "one head is read in one window, as an example of what makes its scores",
            lambda: six_panels(view, run, groups["constituents"].share),
        ),
    }
    for name in (name for name in INPUTS if name in missing):
        words, make = steps[name]
        if progress:
            say(f"{view.name}: {words}")
        with one_core_each():
            groups[name] = make()
    return {name: groups[name] for name in INPUTS if name in missing}


def shown(run: Run) -> str:
    """How to speak of a run."""
    return str(run.folder) if run.folder else "this run"


def of_memory(run: Run) -> bool:
    """Whether the run was made of a model that nothing can load again."""
    return str(run.provenance["model_kind"]) == "loaded model"


def reloaded(run: Run, **options: Any) -> View:
    """The run's model, loaded again from its provenance."""
    about = run.provenance
    if of_memory(run):
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
    first, local = [], []
    with reading_heads(view, skipped=1, drop=True) as read:
        for window in tokens:
            view.run(window[None])
            seen = read.take(view.n_blocks)
            first.append(seen.scalars[0, ..., SCALARS.index("mass_first")])
            local.append(seen.profile[0, ..., :LOCAL_SPANS])
    mean_first, mean_local = (sum(rows[1:], start=rows[0]) / len(tokens) for rows in (first, local))
    return mean_first.numpy(), mean_local.sum(-1).numpy()


def with_names(run: Run, found: dict[str, xr.Dataset]) -> Run:
    """The run with what was found and the names that follow, kept in its folder where it has one."""
    file = GROUPS["taxonomy"].file
    before = {str(name): node.to_dataset() for name, node in run.results.children.items()}
    groups = {name: before[name].load() for name in before if name in GROUPS and GROUPS[name].file == file}
    groups |= {name: results.described(name, dataset) for name, dataset in found.items()}
    inputs = {name: before[name] for name in ("heads", "head_groups")}
    groups["taxonomy"] = results.measured({"repeats": groups["repeats"], **inputs})["taxonomy"]
    if run.folder is not None:
        store.write(run.folder, file, groups, run.provenance)
        return store.open(run.folder)
    return Run(store.tree_of({**before, **groups}, run.provenance))

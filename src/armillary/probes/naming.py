"""Names for the heads of a run, by the repeated-token test and its null, and what position does in every head."""

from collections.abc import Callable
from typing import Any

import xarray as xr

from armillary.models.view import View
from armillary.probes.constituents import shares
from armillary.probes.control import repeats
from armillary.probes.dissection import RANK, weight_dissection
from armillary.probes.qk_smoothness import qk_smoothness
from armillary.probes.reloading import of_memory, refuse_another, reloaded
from armillary.probes.six_panels import head_examples, six_panels
from armillary.results import measuring as results
from armillary.results import store
from armillary.results.reading import require
from armillary.results.schema import GROUPS
from armillary.results.store import Run
from armillary.system.progress import say
from armillary.system.threads import one_core_each

SHARE_WINDOWS = 8
"""From how many of the run's windows the shares of constituents and the smoothness of logits are taken."""

INPUTS = ("constituents", "dissection", "qk_smoothness", "six_panels", "head_examples")
"""The groups that need the attentions' inputs, in the order in which they are made."""


def named(run: Run, view: View | None = None, *, progress: bool = True, **options: Any) -> Run:
    """The run with its heads named, as `armillary.heads` says: what is there is not read again, the rest is added."""
    require(run.results, "heads")
    missing = missing_groups(run)
    if not missing or ("taxonomy" in run.results and view is None and of_memory(run)):
        return run
    require(run.results, "corpus")
    view = reloaded(run, **options) if view is None else view
    refuse_another(run, view)
    found = {"repeats": repeats(view, run, progress)} if "repeats" in missing else {}
    if "attention" in run.results:
        before = found["repeats"] if "repeats" in found else run.results["repeats"].to_dataset()
        found |= positional(view, run, missing, before, progress)
    return with_names(run, found)


def missing_groups(run: Run) -> list[str]:
    """What the run could hold of its heads and does not."""
    wanted = ("repeats", "taxonomy", *(INPUTS if "attention" in run.results else ()))
    return [name for name in wanted if name not in run.results]


def positional(view: View, run: Run, missing: list[str], repeated: xr.Dataset, progress: bool) -> dict[str, xr.Dataset]:
    """What is missing of the groups that need the attentions' inputs; each is announced before it is made."""
    windows = min(SHARE_WINDOWS, run.results["corpus"].sizes["context"])
    # The position vectors add up to zero: T positions span T − 1 directions at most.
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
        "head_examples": (
            "three heads are read in a window of repeated tokens, where they act",
            lambda: head_examples(view, run, repeated),
        ),
    }
    for name in (name for name in INPUTS if name in missing):
        words, make = steps[name]
        if progress:
            say(f"{view.name}: {words}")
        with one_core_each():
            groups[name] = make()
    return {name: groups[name] for name in INPUTS if name in missing}


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

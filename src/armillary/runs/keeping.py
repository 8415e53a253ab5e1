"""Where the results of a question go: into the run that it was asked of, into a folder of their own, or nowhere."""

from pathlib import Path
from typing import Any

import xarray as xr

from armillary.models.view import View, refuse_unloaded
from armillary.probes.reloading import refuse_another
from armillary.results import store
from armillary.results.schema import GROUPS
from armillary.results.store import Run
from armillary.runs.page import refreshed
from armillary.runs.writing import refuse_place, written


def refuse_unfit(run: Run | None, view: View, out: str | Path | None) -> None:
    """Refuse, before anything is computed, what is no model, a run of another, a folder that is taken, and both."""
    refuse_unloaded(view)
    refuse_place(run, out)
    if run is not None:
        refuse_another(run, view)


def kept(
    groups: dict[str, xr.Dataset], view: View, run: Run | None, *, out: str | Path | None, report: bool, **about: Any
) -> Run:
    """A run with these groups: the given one and what it held, else a new one, in the folder `out` or in memory.

    `about` is added to the provenance of a new run. Its page is written unless `report` is False.
    """
    if run is not None:
        return refreshed(joined(run, groups))
    return written(groups, {**view.provenance, **about}, out=out, report=report)


def joined(run: Run, groups: dict[str, xr.Dataset]) -> Run:
    """The run with these groups, written to its folder where it has one; other groups of the same file stay."""
    before = {str(name): node.to_dataset() for name, node in run.results.children.items()}
    if run.folder is None:
        return Run(store.tree_of({**before, **groups}, run.provenance))
    for file, parts in store.by_file(groups).items():
        held = {name: part.load() for name, part in before.items() if name in GROUPS and GROUPS[name].file == file}
        store.write(run.folder, file, {**held, **parts}, run.provenance)
    return store.open(run.folder)

"""A new run: in a folder that holds none yet, or in memory. Nothing here needs torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from armillary.errors import StoreError
from armillary.results import store
from armillary.results.schema import GROUPS
from armillary.results.store import Run
from armillary.runs.page import with_page
from armillary.system.surroundings import surroundings


def refuse_taken(out: str | Path | None, cure: str = "choose another --out") -> None:
    """Refuse, before anything is computed, a folder that already holds a run."""
    if out is not None and any((Path(out) / group.file).exists() for group in GROUPS.values()):
        raise StoreError(f"expected a folder without a run, got {out}, which already holds one: {cure}")


def refuse_place(run: Run | None, out: str | Path | None) -> None:
    """Refuse, before a model is loaded, a run to add to beside a folder to write to, and a folder that is taken."""
    if run is not None and out is not None:
        raise StoreError("expected a run to add to or a folder to write to, got both: give one of them")
    refuse_taken(out, "choose another --out, or give that folder as --run to add to it")


def written(groups: Mapping[str, xr.Dataset], about: Mapping[str, Any], *, out: str | Path | None, report: bool) -> Run:
    """A run of these groups with this provenance, in the folder `out`, with a page unless `report` is False."""
    attributes = {**about, **surroundings()}
    if out is None:
        return Run(store.tree_of(groups, {**attributes, "armillary_format": store.FORMAT}))
    for file, parts in store.by_file(groups).items():
        store.write(Path(out), file, parts, attributes)
    found = store.open(out)
    return with_page(found) if report else found

"""A run: one folder, one netCDF file per group of results, each with its provenance and checked against the schema."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from armillary.errors import StoreError
from armillary.results import netcdf
from armillary.results.draft import Draft
from armillary.results.former import Results, renamed
from armillary.results.labels import COMPONENTS
from armillary.results.reading import simulated
from armillary.results.schema import FORMAT, GROUPS
from armillary.system.files import sweep
from armillary.system.progress import say
from armillary.system.texts import escaped, shareable, short

if TYPE_CHECKING:
    import plotly.graph_objects as go

STATES = "states.nc"


@dataclass(frozen=True, repr=False)
class Run:
    """What a survey found: `results` is a DataTree of labelled arrays, `provenance` says how they were made."""

    results: xr.DataTree
    folder: Path | None = None

    @property
    def provenance(self) -> dict[str, Any]:
        """Model, text, settings, versions and command."""
        return {str(name): value for name, value in self.results.attrs.items()}

    @property
    def title(self) -> str:
        """Model and text, as far as the run has them, and whether weights are random. Or what it simulates."""
        return f"{self.subject}{' (random weights)' if self.provenance.get('random_weights') else ''}"

    @property
    def subject(self) -> str:
        """Model and text: smollm2 on wikitext2; smollm2; the same for trained and random weights."""
        if simulation := simulated(self.results):
            return f"Simulated {simulation}"
        model, corpus = (short(str(self.provenance.get(key) or "")) for key in ("model", "corpus"))
        return f"{model or 'a model'} on {corpus}" if corpus else model or "a run"

    def plot(self, name: str, theme: str = "light") -> "go.Figure":
        """One figure by name, "position-share", with its finding as title; a wrong name lists those of this run."""
        from armillary.figures import plot  # plotly is loaded when a figure is asked for

        return plot(self.results, name, theme)

    def __repr__(self) -> str:
        where = f" in {self.folder}" if self.folder else ""
        return f"Run({self.title}, groups {', '.join(self.results.children)}{where})"

    def _repr_html_(self) -> str:
        from armillary.reporting.notebook import summary

        return summary(self)


def draft(folder: Path, file: str, provenance: Mapping[str, Any]) -> Draft:
    """One file of a run, to be written group by group; what an earlier one that was killed left behind goes."""
    sweep(folder)
    return Draft(folder / file, plain_attributes({**provenance, "armillary_format": FORMAT}))


def write(folder: Path, file: str, groups: Mapping[str, xr.Dataset], provenance: Mapping[str, Any]) -> Path:
    """Write one file of a run at once: an older one stays whole until the new one is complete."""
    with draft(folder, file, provenance) as begun:
        begun.add(groups)
        return begun.publish()


def refuse_surveyed(folder: Path) -> None:
    """Refuse, before anything is loaded or read, a folder that already holds a survey."""
    if (folder / STATES).exists():
        raise StoreError(
            f"expected a folder without a run, got {folder}, which already holds one: choose another --out, or remove "
            f"that folder"
        )


def by_file(groups: Mapping[str, xr.Dataset]) -> dict[str, dict[str, xr.Dataset]]:
    """The groups of each file that the schema names for them."""
    files = sorted({GROUPS[name].file for name in groups})
    return {file: {name: part for name, part in groups.items() if GROUPS[name].file == file} for file in files}


def tree_of(groups: Mapping[str, xr.Dataset], attributes: Mapping[str, Any]) -> xr.DataTree:
    """Groups under one root that carries the provenance and no coordinates."""
    tree = Results.from_dict({f"/{name}": dataset for name, dataset in groups.items()})
    tree.attrs.update(plain_attributes(attributes))
    return tree


def plain_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """What a file can hold of a provenance; what is None is left out."""
    return {key: plain(value) for key, value in attributes.items() if value is not None}


def plain(value: Any) -> Any:
    """A value that a netCDF attribute can hold, and that reads as it was written; a text as others may see it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, int | float) else shareable(str(value))


def open(folder: str | Path) -> Run:
    """Open a run; large arrays are read when they are looked at."""
    folder = Path(folder)
    trees = [*read(folder).values()]
    groups = {name: renamed(name, node.to_dataset()) for tree in trees for name, node in tree.children.items()}
    first = sorted(trees, key=lambda tree: "model" not in tree.attrs)  # what is simulated has none
    attributes = {str(key): value for tree in reversed(first) for key, value in tree.attrs.items()}
    return Run(tree_of(groups, attributes), folder)


def opened(run: Run | str | Path) -> Run:
    """The run itself, or the one of a folder."""
    return run if isinstance(run, Run) else open(run)


def files_of(folder: Path) -> list[Path]:
    """The files of results in a folder, any of them; refuses a folder that holds none."""
    files = sorted({group.file for group in GROUPS.values()})
    found = [folder / file for file in files if (folder / file).exists()]
    if not found:
        raise StoreError(f"expected the folder of a run, got {folder}, {without_results(folder)}")
    return found


def without_results(folder: Path) -> str:
    """What a place is that holds no results, and what to do."""
    if not folder.exists():
        return "which does not exist: check the path, or make a run there with `armillary survey MODEL --out`"
    if not folder.is_dir():
        return f"a file: give its folder, {folder.parent}"
    if (folder / "checkpoint").exists():
        return "whose survey was interrupted: resume it with --resume"
    if (folder / "part").exists():
        return "one part of a survey: join all parts with `armillary merge`"
    return "which holds no results: make a run with `armillary survey MODEL --out`"


def read(folder: Path, *, measured: bool = True) -> dict[Path, xr.DataTree]:
    """Every file of a run, checked against the schema; without `measured` what measures gave may be lacking."""
    trees, older = netcdf.read(files_of(folder))
    for path, tree in trees.items():
        version = tree.attrs.get("armillary_format")
        if version != FORMAT:
            raise StoreError(
                f"{path} has format {version!r}, expected {FORMAT}: survey again, "
                "or open it with the version that made it"
            )
        for name, node in tree.children.items():
            if name in GROUPS and (measured or not GROUPS[name].measures):
                check(path, name, renamed(name, node.to_dataset()))
    if older and measured:  # said of what is read: a file that is refused has one line, and `measure` adds them
        names = ", ".join(path.name for path in older)
        say(f"without checksums, as in earlier versions: {names}; `armillary measure {folder}` adds them")
    return trees


KINDS = {"text": ("texts", "UO"), "index": ("whole numbers", "iu"), "token id": ("whole numbers", "iu")}
KINDS |= {"true or false": ("true or false", "b")}
"""By unit: what the values of a variable are, and numpy's letters for it; those of any other unit are numbers."""


def check(path: Path, name: str, dataset: xr.Dataset, *, again: bool = False) -> None:
    """Refuse a group whose variables are missing or have other axes or types than the schema says.

    `again` says that it has just been measured again, which is then no advice.
    """
    for variable, row in GROUPS[name].variables.items():
        if variable not in dataset:
            if row.optional:
                continue
            if again:
                raise StoreError(f"{path} lacks /{name}/{variable}, which what it kept does not give: survey again")
            cure = f"run armillary measure {path.parent}" if GROUPS[name].measures else "survey again"
            raise StoreError(f"{path} lacks /{name}/{variable}: the file is incomplete or older, {cure}")
        if dataset[variable].dims != row.axes:
            raise StoreError(
                f"{path}: /{name}/{variable} has axes {dataset[variable].dims}, expected {row.axes}: survey again"
            )
        words, letters = KINDS.get(row.unit, ("numbers", "iuf"))
        if dataset[variable].dtype.kind not in letters:
            raise StoreError(
                f"{path}: /{name}/{variable} holds {dataset[variable].dtype}, expected {words}: survey again"
            )
    if "component" in dataset.dims:
        named = tuple(map(str, dataset.component.values))
        if named != COMPONENTS:
            raise StoreError(
                f"{path}: /{name} names its components {quoted(named)}, expected {quoted(COMPONENTS)}: survey again"
            )


def quoted(names: tuple[str, ...]) -> str:
    """Names in a message, those of a stranger shortened and escaped."""
    return ", ".join(escaped(name[:20]) for name in names[:4])

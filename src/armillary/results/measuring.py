"""From labelled sums to labelled results: every measure that the schema names, run on what it asks for."""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import xarray as xr

from armillary.measures import dimension, ranks, smoothness
from armillary.measures.heldout import FOLDS
from armillary.results import store
from armillary.results.former import completed, renamed
from armillary.results.labels import COMPONENTS, labelled
from armillary.results.schema import GROUPS
from armillary.results.store import Run
from armillary.system.threads import side_by_side

COORDINATES = {
    "component": list(COMPONENTS),
    "k": list(ranks.K),
    "size": list(dimension.SIZES),
    "order": list(range(1, smoothness.ORDERS + 1)),
}
"""What stands along the axes that measures bring with them."""


SHAPE = ("d_model", "position")
"""The axes that say how much memory a measure needs."""

WORK = 2**31
"""About how many bytes the layers that are measured at the same time may work in: wide models have fewer at a time."""


def working_bytes(width: int, length: int) -> int:
    """What the measures of one layer work in: the largest of them, as counted of their arrays.

    Held-out energies take the folds' curves two and a half times in float64, the smoothness of a basis 18 matrices of
    position × position, the largest variance a covariance in float64; all others less than 16 MB.
    """
    curves = 8 * length * width
    return max(5 * FOLDS * curves // 2, 18 * 8 * length**2 + curves, 8 * width**2 + 2 * curves, 1 << 24)


def measuring_threads(width: int, length: int) -> int:
    """How many layers of this width, and windows of this length, are measured at a time."""
    return max(1, min(os.cpu_count() or 1, WORK // working_bytes(width, length)))


def measured(groups: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """The groups that measures make, from those that a pass made."""
    results: dict[str, xr.Dataset] = {}
    for name, group in GROUPS.items():
        if group.measures and group.inputs[0] in groups:
            arrays = inputs(group.inputs, {**groups, **results})
            each = partial(side_by_side, threads=measuring_threads(*(longest(arrays, axis) for axis in SHAPE)))
            made = measures_of(group.measures, arrays, each)
            if made:
                whole = with_coordinates(xr.merge(made, join="exact"))
                known = not group.splits or arrays["group"].sizes["context"] > 1
                results[name] = described(name, whole if known else whole.where(False))
    return results


def longest(arrays: Mapping[str, Any], axis: str) -> int:
    """The length of an axis of what measures are made from; 1 where none of it has one."""
    return max((array.sizes.get(axis, 1) for array in arrays.values()), default=1)


def measures_of(
    measures: Iterable[Callable[..., Any]], arrays: dict[str, Any], each: Callable[..., Iterable[Any]] = side_by_side
) -> list[xr.Dataset]:
    """What some measures give, each from what is given and what those before it gave.

    A measure whose parameters are not there is left out: not every model rotates, not every run has heads. Layers or
    heads are looped over by `each`.
    """
    made: list[xr.Dataset] = []
    for measure in measures:
        if not missing_parameters(measure, arrays):
            made.append(labelled(measure, each)(arrays))
            arrays |= {str(field): made[-1][field] for field in made[-1].data_vars}
    return made


def missing_parameters(measure: Callable[..., Any], arrays: Mapping[str, Any]) -> list[str]:
    """The parameters that a measure must have and does not find."""
    parameters = inspect.signature(measure).parameters.items()
    return [name for name, each in parameters if name not in arrays and each.default is inspect.Parameter.empty]


def remeasured(folder: Path) -> Run:
    """The run of a folder, measured again from what its pass kept; one that stays incomplete is left as it was."""
    trees = store.read(folder, measured=False)
    held = {
        str(name): completed(str(name), renamed(str(name), node.to_dataset())).load()
        for tree in trees.values()
        for name, node in tree.children.items()
    }
    attributes = {path: {str(key): value for key, value in tree.attrs.items()} for path, tree in trees.items()}
    for tree in trees.values():
        tree.close()
    made = measured({name: held[name] for name in held if name not in GROUPS or not GROUPS[name].measures})
    files: dict[Path, dict[str, xr.Dataset]] = {}
    for path, tree in trees.items():
        groups = {str(name): made.get(str(name), held[str(name)]) for name in tree.children}
        new = {name: part for name, part in made.items() if GROUPS[name].file == path.name}
        files[path] = {**groups, **new}
        for name in GROUPS.keys() & files[path].keys():
            store.check(path, name, files[path][name], again=True)
    for path, groups in files.items():
        store.write(folder, path.name, groups, attributes[path])
    return store.open(folder)


def inputs(sources: tuple[str, ...], groups: dict[str, xr.Dataset]) -> dict[str, Any]:
    """Every variable that a measure may ask for by name; the first group that has it gives it.

    `residual_position` is the variable or coordinate `position` of group `residual`, whatever the other groups hold.
    """
    found: dict[str, Any] = {}
    for source in sources:
        dataset = groups.get(source, xr.Dataset())
        for name in dataset.data_vars:
            found.setdefault(str(name), dataset[name])
        found |= {f"{source}_{name}": dataset[name] for name in dataset.variables}
    return found


def with_coordinates(dataset: xr.Dataset) -> xr.Dataset:
    """Axes that measures bring with them get their names or numbers."""
    return dataset.assign_coords({axis: names for axis, names in COORDINATES.items() if axis in dataset.dims})


def described(group: str, dataset: xr.Dataset) -> xr.Dataset:
    """Units and meanings from the schema, beside the numbers."""
    for name, variable in GROUPS[group].variables.items():
        if name in dataset:
            dataset[name].attrs.update(units=variable.unit, long_name=variable.text)
    dataset.attrs["description"] = GROUPS[group].text
    return dataset

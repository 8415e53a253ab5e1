"""From labelled sums to labelled results: every measure that the schema names, run on what it asks for."""

from typing import Any

import xarray as xr

from armillary.labels import labelled
from armillary.schema import GROUPS
from armillary.threads import side_by_side

COMPONENTS = ["position", "context", "residual"]


def measured(groups: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """The groups that measures make, from those that a pass made."""
    results: dict[str, xr.Dataset] = {}
    for name, group in GROUPS.items():
        if group.measures and group.inputs[0] in groups:
            arrays = inputs(group.inputs, {**groups, **results})
            made = [labelled(measure, side_by_side)(arrays) for measure in group.measures]
            results[name] = described(name, named_components(xr.merge(made, join="exact")))
    return results


def inputs(sources: tuple[str, ...], groups: dict[str, xr.Dataset]) -> dict[str, Any]:
    """Every variable that a measure may ask for by name; the first group that has it gives it."""
    found: dict[str, Any] = {}
    for source in sources:
        for name, variable in groups[source].data_vars.items() if source in groups else ():
            found.setdefault(str(name), variable)
    return found


def named_components(dataset: xr.Dataset) -> xr.Dataset:
    """The axis component with its names."""
    return dataset.assign_coords(component=COMPONENTS) if "component" in dataset.dims else dataset


def described(group: str, dataset: xr.Dataset) -> xr.Dataset:
    """Units and meanings from the schema, beside the numbers."""
    for name, variable in GROUPS[group].variables.items():
        if name in dataset:
            dataset[name].attrs.update(units=variable.unit, long_name=variable.text)
    dataset.attrs["description"] = GROUPS[group].text
    return dataset

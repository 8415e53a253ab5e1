"""From labelled sums to labelled results: every measure that the schema names, run on what it asks for."""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import xarray as xr
from threadpoolctl import threadpool_limits

from armillary.labels import labelled
from armillary.schema import GROUPS

COMPONENTS = ["position", "context", "residual"]


def measured(groups: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """The groups that measures make, from those that a pass made."""
    results: dict[str, xr.Dataset] = {}
    # The matrices of one layer are small: a thread per layer is fast, threads inside a product wait for each other.
    with threadpool_limits(1), ThreadPoolExecutor(os.cpu_count()) as threads:
        for name, group in GROUPS.items():
            if group.measures and group.inputs[0] in groups:
                arrays = inputs(group.inputs, {**groups, **results})
                made = [labelled(measure, threads.map)(arrays) for measure in group.measures]
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

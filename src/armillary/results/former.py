"""Earlier versions: files with the names that results had then open, and scripts that ask for them are answered."""

import warnings
from typing import Any

import numpy as np
import xarray as xr

VARIABLES: dict[str, dict[str, str]] = {
    "corpus": {"turn": "shift"},
    "dissection": {"energy_rest": "energy_residual"},
    "six_panels": {
        "position_rest": "position_residual",
        "rest_position": "residual_position",
        "rest_rest": "residual_residual",
    },
}
"""By group: former name, present name."""

PARTS = {"global": "mean", "rest": "residual"}
LABELS: dict[str, dict[str, dict[str, str]]] = {"constituents": {"part_query": PARTS, "part_key": PARTS}}
"""By group and axis: former label along the axis, present label."""


def renamed(group: str, dataset: xr.Dataset) -> xr.Dataset:
    """A group of a file under its present names, whatever version wrote it."""
    names = {old: new for old, new in VARIABLES.get(group, {}).items() if old in dataset}
    for axis, labels in LABELS.get(group, {}).items():
        if axis in dataset.coords:
            given = [str(label) for label in dataset[axis].values]
            dataset = dataset.assign_coords({axis: [labels.get(label, label) for label in given]})
    return dataset.rename(names) if names else dataset


def completed(group: str, dataset: xr.Dataset) -> xr.Dataset:
    """A group that measures are made from, with NaN for what the version that wrote it did not keep."""
    if group != "residual" or "leading_groups" in dataset:
        return dataset
    unknown = np.full((dataset.sizes["layer"], dataset.sizes["group"], 1, 1), np.nan)
    return dataset.assign(leading_groups=(("layer", "group", "direction", "direction_"), unknown))


def present(group: str, name: str) -> str | None:
    """The present name of a variable that is asked for by a former one, with a warning; None for any other name."""
    new = VARIABLES.get(group, {}).get(name)
    if new is not None:
        message = f"/{group}/{name} is now called /{group}/{new}: use the new name"
        warnings.warn(message, FutureWarning, stacklevel=4)
    return new


class Results(xr.DataTree):
    """A DataTree whose variables are also found by their former names."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        """A group or variable by its path."""
        try:
            return super().__getitem__(key)
        except KeyError:
            group, _, name = f"{self.name or ''}/{key}".strip("/").rpartition("/")
            new = present(group, name)
            if new is None:
                raise
            return super().__getitem__(f"{key}".removesuffix(name) + new)

    def __getattr__(self, name: str) -> Any:
        """A group or variable as an attribute."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            new = present(str(self.name or ""), name) if not name.startswith("_") else None
            if new is None:
                raise
            return super().__getattr__(new)

"""Groups of labelled arrays as one netCDF-4 file, written with h5py.

xarray reads these files through h5netcdf, as does every netCDF library. Writing goes around h5netcdf, which looks all
axes up anew for every variable: with a hundred small variables that takes longer than most of the measures.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr

UNNAMED = "This is a netCDF dimension but not a netCDF variable.{:10d}"
"""What netCDF calls an axis without names or numbers along it."""


class Netcdf:
    """A file that is being written: one group per dataset, and attributes at its root."""

    def __init__(self, path: Path, attributes: Mapping[str, Any]) -> None:
        self.file = h5py.File(path, "w", track_order=True)
        self.axes = 0
        set_attributes(self.file, {"_NCProperties": properties(), **attributes})

    def add(self, groups: Mapping[str, xr.Dataset]) -> None:
        """Write some groups; other threads may go on meanwhile."""
        for name, dataset in groups.items():
            into = self.file.create_group(name, track_order=True)
            set_attributes(into, dataset.attrs)
            scales = {str(axis): scale(into, str(axis), dataset, self.axes + i) for i, axis in enumerate(dataset.sizes)}
            self.axes += len(scales)
            for variable in dataset.variables:
                if variable not in dataset.sizes:
                    attach(written(into, str(variable), dataset.variables[variable]), dataset[variable].dims, scales)

    def close(self) -> None:
        """The file is complete."""
        self.file.close()


def properties() -> np.bytes_:
    """Which libraries wrote the file, in netCDF's own words."""
    return np.bytes_(f"version=2,hdf5={h5py.version.hdf5_version},h5py={h5py.version.version}")


def scale(into: h5py.Group, axis: str, dataset: xr.Dataset, number: int) -> h5py.Dataset:
    """An axis: the names or numbers along it, or its length alone."""
    if axis in dataset.variables:
        made, name = written(into, axis, dataset.variables[axis]), axis
    else:
        length = dataset.sizes[axis]
        made, name = into.create_dataset(axis, (length,), ">f4", track_order=True), UNNAMED.format(length)
    made.attrs["_Netcdf4Dimid"] = np.int32(number)
    made.make_scale(name)
    return made


def written(into: h5py.Group, name: str, variable: xr.Variable) -> h5py.Dataset:
    """The values of a variable and what is said about them; texts as UTF-8, true and false as xarray keeps them."""
    values, about = variable.values, dict(variable.attrs)
    if values.dtype.kind == "b":
        values, about["dtype"] = values.astype(np.int8), "bool"
    kind = h5py.string_dtype() if values.dtype.kind in "UO" else values.dtype
    if values.dtype.kind == "f":
        about["_FillValue"] = np.full(1, np.nan, kind)
    made = into.create_dataset(name, values.shape, kind, track_order=True)
    if values.size:
        made[...] = values.astype(object) if values.dtype.kind == "U" else values
    set_attributes(made, about)
    return made


def attach(made: h5py.Dataset, axes: tuple[Any, ...], scales: Mapping[str, h5py.Dataset]) -> None:
    """Say which axes a variable runs along."""
    for i, axis in enumerate(axes):
        made.dims[i].attach_scale(scales[str(axis)])


def set_attributes(of: h5py.Group | h5py.Dataset, attributes: Mapping[Any, Any]) -> None:
    """Texts as texts; numbers as lists of one, as netCDF has them."""
    for name, value in attributes.items():
        of.attrs[str(name)] = value if isinstance(value, str | np.ndarray | np.bytes_) else np.atleast_1d(value)

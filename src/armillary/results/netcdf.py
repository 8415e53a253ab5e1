"""Groups of labelled arrays as one netCDF-4 file, written with h5py and read without it.

xarray reads these files through h5netcdf, as does every netCDF library. Writing goes around h5netcdf, which looks all
axes up anew for every variable: with a hundred small variables that takes longer than most of the measures. Reading
goes around it too: what a file says is checked by `guard` in a process of its own, and numbers are read from where they
lie in the file, so that nothing that was not checked is ever opened.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr

from armillary.results import checksums
from armillary.results.inspection import inspected, refusal
from armillary.results.stored import StoredFile, listed, variable

UNNAMED = "This is a netCDF dimension but not a netCDF variable.{:10d}"
"""What netCDF calls an axis without names or numbers along it."""


class Netcdf:
    """A file that is being written: one group per dataset, and attributes at its root."""

    def __init__(self, path: Path, attributes: Mapping[str, Any]) -> None:
        self.disk = Disk(path)
        self.file = h5py.File(self.disk, "w", track_order=True)
        self.axes = 0
        sums = checksums.written({checksums.REST: checksums.of_rest(as_read(attributes), {})})
        set_attributes(self.file, {"_NCProperties": properties(), **attributes, checksums.NAME: sums})

    def add(self, groups: Mapping[str, xr.Dataset]) -> None:
        """Write some groups; other threads may go on meanwhile."""
        for name, dataset in groups.items():
            into = self.file.create_group(name, track_order=True)
            sums: dict[str, int] = {}
            said: dict[str, Any] = {}
            scales = {}
            for number, axis in enumerate(map(str, dataset.sizes), self.axes):
                scales[axis] = scale(into, axis, dataset, number, said, sums)
            self.axes += len(scales)
            for each in map(str, dataset.variables):
                if each not in dataset.sizes:
                    made = written(into, each, dataset.variables[each], said, sums)
                    attach(made, dataset[each].dims, scales)
            sums[checksums.REST] = checksums.of_rest(as_read(dataset.attrs), said)
            set_attributes(into, {**dataset.attrs, checksums.NAME: checksums.written(sums)})
            self.disk.check()

    def close(self) -> None:
        """The file is complete."""
        self.file.close()
        self.disk.close()


class Disk:
    """The file below HDF5, which never learns that a disk is full or broken: it would leave the process in pieces.

    An error is remembered, what is written after it is dropped, and `check` raises it.
    """

    def __init__(self, path: Path) -> None:
        self.file = path.open("w+b", buffering=0)
        self.error: OSError | None = None

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place."""
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        """Where it is."""
        return self.file.tell()

    def read(self, size: int = -1) -> bytes:
        """Bytes from here on."""
        return self.file.read(size)

    def readinto(self, into: Any) -> int:
        """Fill a buffer from here on."""
        return self.file.readinto(into) or 0

    def write(self, content: Any) -> int:
        """Write bytes here, all of them."""
        left = memoryview(content).cast("B")
        length = len(left)
        with self.remembering():
            while len(left) and self.error is None:
                left = left[self.file.write(left) :]
        return length

    def truncate(self, size: int) -> int:
        """Give the file this length."""
        with self.remembering():
            self.file.truncate(size)
        return size

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Close the file; raises what failed before."""
        self.file.close()
        self.check()

    def __del__(self) -> None:  # left without `close` after an error
        if hasattr(self, "file"):
            self.file.close()

    def check(self) -> None:
        """Raise the first error that was met."""
        if self.error is not None:
            raise self.error

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Keep the first error that is met inside."""
        try:
            yield
        except OSError as error:
            self.error = self.error or error


def properties() -> np.bytes_:
    """Which libraries wrote the file, in netCDF's own words."""
    return np.bytes_(f"version=2,hdf5={h5py.version.hdf5_version},h5py={h5py.version.version}")


def scale(
    into: h5py.Group, axis: str, dataset: xr.Dataset, number: int, said: dict[str, Any], sums: dict[str, int]
) -> h5py.Dataset:
    """An axis: the names or numbers along it, or its length alone."""
    if axis in dataset.variables:
        made, name = written(into, axis, dataset.variables[axis], said, sums), axis
    else:
        length = dataset.sizes[axis]
        made, name = into.create_dataset(axis, (length,), ">f4", track_order=True), UNNAMED.format(length)
    made.attrs["_Netcdf4Dimid"] = np.int32(number)
    made.make_scale(name)
    return made


def written(
    into: h5py.Group, name: str, variable: xr.Variable, said: dict[str, Any], sums: dict[str, int]
) -> h5py.Dataset:
    """The values of a variable and what is said about them; texts as UTF-8, true and false as xarray keeps them.

    `said` and `sums` get what a reader will find of it, and the checksum of its numbers.
    """
    values, about = variable.values, dict(variable.attrs)
    if values.dtype.kind == "b":
        values, about["dtype"] = values.astype(np.int8), "bool"
    text = values.dtype.kind in "UO"
    kind = h5py.string_dtype() if text else values.dtype
    if values.dtype.kind == "f":
        about["_FillValue"] = np.full(1, np.nan, kind)
    made = into.create_dataset(name, values.shape, kind, track_order=True)
    if values.size:
        made[...] = values.astype(object) if values.dtype.kind == "U" else values
    set_attributes(made, about)
    said[name] = {"dtype": "text" if text else values.dtype.str, "shape": list(values.shape)}
    said[name] |= {"axes": [str(axis) for axis in variable.dims], "attributes": as_read(about)}
    if text:
        said[name]["texts"] = [str(value) for value in values.ravel()]
    else:
        sums[name] = checksums.of_numbers(values)
    return made


def attach(made: h5py.Dataset, axes: tuple[Any, ...], scales: Mapping[str, h5py.Dataset]) -> None:
    """Say which axes a variable runs along."""
    for i, axis in enumerate(axes):
        made.dims[i].attach_scale(scales[str(axis)])


def set_attributes(of: h5py.Group | h5py.Dataset, attributes: Mapping[Any, Any]) -> None:
    """Texts as texts; numbers as lists of one, as netCDF has them."""
    for name, value in attributes.items():
        of.attrs[str(name)] = value if isinstance(value, str | np.ndarray | np.bytes_) else np.atleast_1d(value)


def as_read(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """Attributes as a reader of the file will find them: texts, numbers, and lists of several numbers."""
    found: dict[str, Any] = {}
    for name, value in attributes.items():
        flat = [value] if isinstance(value, str) else np.atleast_1d(value).ravel().tolist()
        found[str(name)] = flat[0] if len(flat) == 1 else flat
    return found


def read(paths: Sequence[Path]) -> tuple[dict[Path, xr.DataTree], list[Path]]:
    """Files of results as trees of labelled arrays, each checked before anything of it is believed.

    And those that have no checksums.
    """
    found = dict(zip(paths, inspected(paths), strict=True))
    older = [path for path, said in found.items() if checksums.NAME not in said["attributes"]]
    return {path: tree(path, said) for path, said in found.items()}, older


def tree(path: Path, said: dict[str, Any]) -> xr.DataTree:
    """One file: its groups, whose numbers are read when they are looked at, and its attributes."""
    file = StoredFile(path)
    verified(path, "its provenance", said["attributes"], {})
    groups = {f"/{name}": group(file, name, about) for name, about in said["groups"].items()}
    made = xr.DataTree.from_dict({"/": xr.Dataset(attrs=plain(said["attributes"])), **groups})
    made.set_close(file.close)
    return made


def group(file: StoredFile, name: str, said: dict[str, Any]) -> xr.Dataset:
    """One group of a file."""
    sums = verified(file.path, f"/{name}", said["attributes"], said["variables"])
    variables = {
        each: variable(file, f"/{name}/{each}", about, sums.get(each)) for each, about in said["variables"].items()
    }
    return xr.Dataset(variables, attrs=plain(said["attributes"]))


def plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """What the attributes say of the results."""
    return {name: listed(value) for name, value in attributes.items() if name != checksums.NAME}


def verified(path: Path, where: str, attributes: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, int]:
    """The checksums of the arrays of a group whose own is right; none where an earlier version wrote the file."""
    sums = checksums.read(attributes)
    if sums is None:
        return {}
    numbers = {name for name, about in variables.items() if about["dtype"] != "text"}
    if sums.keys() != {checksums.REST, *numbers} or sums[checksums.REST] != checksums.of_rest(attributes, variables):
        raise refusal(path, f"{where} is damaged: its checksum is another")
    return sums

"""A file of results while it is being written: it appears when it is whole, and an older one stays until then."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import xarray as xr

from armillary.errors import not_written
from armillary.results.netcdf import Netcdf
from armillary.system.files import publish, sweep, temporary


class Draft:
    """Groups are added one after the other under another name; `publish` gives the file its own.

    Left without `publish`, by an error or otherwise, it leaves nothing behind.
    """

    def __init__(self, path: Path, attributes: Mapping[str, Any]) -> None:
        self.path = path
        self.temporary = temporary(path)
        with self.writing():
            path.parent.mkdir(parents=True, exist_ok=True)
            sweep(path.parent)
            self.netcdf = Netcdf(self.temporary, attributes)

    def add(self, groups: Mapping[str, xr.Dataset]) -> None:
        """Write some groups."""
        with self.writing():
            reserve(self.temporary, sum(dataset.nbytes for dataset in groups.values()))
            self.netcdf.add(groups)

    def publish(self) -> Path:
        """The file is whole: it takes the place of an older one at once."""
        with self.writing():
            self.netcdf.close()
            publish(self.temporary, self.path)
        return self.path

    def __enter__(self) -> "Draft":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError, RuntimeError):
            self.netcdf.close()
        with suppress(OSError):
            self.temporary.unlink()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """What the disk and HDF5 refuse is said in one line; a bug stays a bug."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            raise not_written(self.path, error) from error


def reserve(path: Path, size: int) -> None:
    """Fail now if so much more will not fit: HDF5 may take the whole process down when a disk fills up under it."""
    room = path.with_suffix(".room")
    try:
        with room.open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size + size // 50 + 1_000_000)
    finally:
        with suppress(OSError):
            room.unlink()

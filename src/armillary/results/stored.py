"""Arrays that stay in their file until they are looked at, and are then read whole or in rows and checked."""

import threading
import zlib
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from armillary.errors import reason
from armillary.results.inspection import refusal

PIECE = 1 << 24
"""Bytes that are read at a time to check an array."""

TEXT_BYTES = 1 << 28
"""The most bytes of texts of one length; above it, each text has its own."""


class StoredFile:
    """A file that is read in places. It stays open, so that what it held can be read when another takes its name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.Lock()
        try:
            self.file = path.open("rb", buffering=0)  # what was read ahead would hide that the file shrank
        except OSError as error:
            raise refusal(path, reason(error)) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredFile, (self.path,)

    def read(self, offset: int, into: memoryview, where: str) -> None:
        """Fill a buffer with the bytes from here on."""
        try:
            with self.lock:
                self.file.seek(offset)
                while len(into):  # the system reads two gigabytes at a time at most
                    count = self.file.readinto(into)
                    if not count:
                        raise refusal(self.path, f"{where} ends early")
                    into = into[count:]
        except OSError as error:
            raise refusal(self.path, f"{where}: {reason(error)}") from error

    def close(self) -> None:
        """Give the file back."""
        self.file.close()

    def __del__(self) -> None:  # nobody can look at its arrays any more
        if hasattr(self, "file"):
            self.file.close()


class StoredArray(BackendArray):
    """An array of numbers in a file, checked against its checksum when it is first looked at."""

    def __init__(self, file: StoredFile, where: str, about: dict[str, Any], checksum: int | None) -> None:
        self.file, self.where, self.offset, self.checksum = file, where, about["offset"], checksum
        self.shape, self.dtype = tuple(about["shape"]), np.dtype(about["dtype"])

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Some of it, as xarray asks."""
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self.part)

    def part(self, key: tuple[Any, ...]) -> Any:
        """What a tuple of numbers and slices picks: the rows in question are read, the rest is left in the file."""
        self.check()
        if not prod(self.shape):
            return np.empty(self.shape, self.dtype)[key]
        if not self.shape:
            return self.rows(0, 1).reshape(())[key]
        first, *others = key
        if isinstance(first, slice):
            places = range(*first.indices(self.shape[0]))
            if not len(places):
                return np.empty(self.shape, self.dtype)[:0][(slice(None), *others)]
            start, stop = min(places), max(places) + 1
            return self.rows(start, stop)[(slice(None, None, places.step), *others)]
        row = int(first) + (self.shape[0] if first < 0 else 0)
        return self.rows(row, row + 1)[(0, *others)]

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Entries of the first axis, from `start` until before `stop`."""
        shape = (stop - start, *self.shape[1:])
        found = np.empty(shape, self.dtype)
        if found.nbytes:
            width = found.nbytes // (stop - start)
            self.file.read(self.offset + start * width, found.reshape(-1).view(np.uint8).data, self.where)
        return found

    def check(self) -> None:
        """Refuse an array whose bytes are not those that were written; looked at once."""
        expected = self.checksum  # another thread may be done with it in the meantime
        if expected is None:
            return
        left, found, offset = prod(self.shape) * self.dtype.itemsize, 0, self.offset
        piece = memoryview(bytearray(min(left, PIECE)))
        while left:
            piece = piece[: min(left, PIECE)]
            self.file.read(offset, piece, self.where)
            found = zlib.crc32(piece, found)
            left, offset = left - len(piece), offset + len(piece)
        if found != expected:
            raise refusal(self.file.path, f"{self.where} is damaged: its checksum is another")
        self.checksum = None


def lazy(array: StoredArray) -> Any:
    """The array as xarray holds those of a file: read when looked at, then kept, and copied before it is changed."""
    held: Any = indexing.LazilyIndexedArray(array)
    return indexing.MemoryCachedArray(indexing.CopyOnWriteArray(held))


def variable(file: StoredFile, where: str, about: dict[str, Any], checksum: int | None) -> xr.Variable:
    """A variable of a group: texts as they are, numbers when they are looked at, and what is said about them."""
    attributes = {name: listed(value) for name, value in about["attributes"].items() if name != "_FillValue"}
    if about["dtype"] == "text":
        return xr.Variable(about["axes"], texts_of(about["texts"]).reshape(about["shape"]), attributes)
    array = StoredArray(file, where, about, checksum)
    if attributes.get("dtype") == "bool" and array.dtype == np.int8:
        del attributes["dtype"]
        return xr.Variable(about["axes"], lazy(Flags(file, where, about, checksum)), attributes)
    return xr.Variable(about["axes"], lazy(array), attributes)


class Flags(StoredArray):
    """True and false, which netCDF keeps as numbers."""

    def __init__(self, file: StoredFile, where: str, about: dict[str, Any], checksum: int | None) -> None:
        super().__init__(file, where, about, checksum)
        self.dtype = np.dtype(bool)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """What is not 0 is true."""
        return super().rows(start, stop).view(np.int8) != 0


def listed(value: Any) -> Any:
    """Several numbers of an attribute as an array."""
    return np.array(value) if isinstance(value, list) else value


def texts_of(texts: list[str]) -> np.ndarray:
    """Texts as they were written; one that is very long among many short ones would take its room for each of them."""
    widest = max(map(len, texts), default=0)
    kind: type = str if 4 * widest * len(texts) <= TEXT_BYTES else object
    return np.array(texts, dtype=kind)

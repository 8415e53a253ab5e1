"""Room for results that are made one layer after the other: in memory, or where they are large in a nameless file."""

import mmap
import tempfile
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from armillary.errors import not_written

LARGE = 2**28
"""Bytes from which on an array goes to disk."""


class Room:
    """An array whose slices along the first axis are given one after the other.

    A nameless file is gone when nobody needs it any more, also where the process is killed.
    """

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike, folder: Path | None) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.size = prod(shape) * self.dtype.itemsize
        self.folder = folder if folder is not None else Path(tempfile.gettempdir())
        self.array = np.empty(shape, dtype) if self.size < LARGE else None
        self.file = None if self.array is not None else tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115

    def add(self, site: int, values: np.ndarray) -> None:
        """The slice of one site; sites come in their order."""
        if self.array is not None:
            self.array[site] = values
            return
        assert self.file is not None
        content, done = np.ascontiguousarray(values, self.dtype).data.cast("B"), 0
        try:
            while done < len(content):
                done += self.file.write(content[done:]) or 0
        except OSError as error:
            raise not_written(self.folder, error) from error

    def whole(self) -> np.ndarray:
        """The array; pages of a file are read when they are looked at, and given up when memory is short."""
        if self.array is not None:
            return self.array
        assert self.file is not None
        with self.file as file:
            pages = mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_COPY)
        return np.frombuffer(pages, self.dtype).reshape(self.shape)

"""Large sums on disk: written once, read back site by site, each piece with a checksum."""

import os
import re
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import torch
from torch import Tensor

from armillary.errors import reason

PIECE = 2**20
"""A larger tensor has a checksum for each of its sites, so that one site can be read and checked alone."""

DTYPES = ("float64", "float32", "int64")
"""What sums are made of."""


class Damaged(Exception):  # noqa: N818  (what was found, not what failed)
    """What lies on disk is not what was written there."""


class Shelf:
    """Files of sums in a folder, or nameless ones that go with the process.

    There are files of two kinds: what is `finished` never changes and lies in one file of this process, a
    `total` gets a new file each time it is written.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.open: dict[str, Any] = {}
        self.current: dict[str, str] = {}
        self.unsynced: set[str] = set()
        self.lock = RLock()

    def put(self, tensor: Tensor, kind: str) -> "Kept":
        """A tensor at the end of the current file of its kind."""
        name = self.name(kind)
        at, dtype = self.end(name), str(tensor.dtype).removeprefix("torch.")
        checks = tuple(self.write(name, piece) for piece in pieces(tensor))
        return Kept(self, name, at, dtype, tuple(tensor.shape), checks)

    def name(self, kind: str) -> str:
        """The current file of a kind: a new one, or what this process began; no older one is written to."""
        if kind not in self.current:
            there = [int(re.sub(r"\D", "", name)) for name in {*self.open, *self.names()}]
            name = f"{kind}-{max(there, default=0) + 1:05d}.bin"
            if self.folder is None:
                self.open[name] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  (closed by `sweep` or `close`)
            else:
                self.folder.mkdir(parents=True, exist_ok=True)
                self.open[name] = (self.folder / name).open("x+b", buffering=0)
            self.current[kind] = name
            self.unsynced.add(name)
        return self.current[kind]

    def turn(self) -> None:
        """From here on a total goes to a new file."""
        self.current.pop("total", None)

    def names(self) -> list[str]:
        """The files that are in the folder."""
        found = self.folder.glob("*.bin") if self.folder is not None else ()
        return [path.name for path in found if named(path.name)]

    def end(self, name: str) -> int:
        """How long a file is."""
        return os.fstat(self.file(name).fileno()).st_size

    def write(self, name: str, piece: Tensor) -> int:
        """Write a piece at the end of a file; its checksum."""
        content = piece.contiguous().numpy().data.cast("B") if piece.numel() else memoryview(b"")
        with self.lock:
            file, done = self.file(name), 0
            file.seek(0, os.SEEK_END)
            while done < len(content):
                done += file.write(content[done:])
        return zlib.crc32(content)

    def read(self, name: str, at: int, into: memoryview) -> None:
        """Fill some memory with what lies at a place of a file."""
        with self.lock:
            try:
                file, done = self.file(name), 0
                file.seek(at)
                while done < len(into):
                    more = file.readinto(into[done:])
                    if not more:
                        raise Damaged(f"{name} ends too early")
                    done += more
            except OSError as error:
                raise Damaged(f"{name}: {reason(error)}") from error

    def file(self, name: str) -> Any:
        """A file, open for reading and, while it is new, for writing."""
        if name not in self.open:
            if self.folder is None:
                raise Damaged(f"{name} is gone")
            self.open[name] = (self.folder / name).open("rb", buffering=0)
        return self.open[name]

    def sync(self) -> None:
        """What was put here outlasts a power cut."""
        for name in self.unsynced & self.open.keys():
            os.fsync(self.open[name].fileno())
        self.unsynced.clear()

    def sweep(self, live: set[str]) -> None:
        """Remove the files that nobody reads any more."""
        for name in {*self.open, *self.names()} - live - set(self.current.values()):
            if name in self.open:
                self.open.pop(name).close()
            if self.folder is not None:
                (self.folder / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Close all files; nameless ones go, and nothing more is written to the others."""
        self.current.clear()
        while self.open:
            self.open.popitem()[1].close()

    def __del__(self) -> None:
        self.close()  # the last sum that lay here is gone


@dataclass(frozen=True)
class Kept:
    """A tensor on disk, the first axis its sites: where it lies, and the checksum of each of its pieces."""

    shelf: Shelf = field(repr=False, compare=False)
    file: str
    at: int
    dtype: str
    shape: tuple[int, ...]
    checks: tuple[int, ...]

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """How much memory it would take."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize

    def __getitem__(self, site: int) -> Tensor:
        """One site, as it was written."""
        if len(self.checks) == 1:
            return self.whole()[site]
        size = self.nbytes // len(self)
        return self.read(self.at + site * size, self.shape[1:], self.checks[site])

    def rows(self, site: int, rows: list[int]) -> Tensor:
        """Some rows of one site, unchecked: its checksum is that of the whole site."""
        width = self.shape[2]
        step = width * np.dtype(self.dtype).itemsize
        start = self.at + site * self.shape[1] * step
        found = [self.read(start + row * step, (width,), None) for row in rows]
        return torch.stack(found) if found else torch.empty(0, width, dtype=getattr(torch, self.dtype))

    def whole(self) -> Tensor:
        """The tensor, as it was written."""
        if len(self.checks) == 1:
            return self.read(self.at, self.shape, self.checks[0])
        return torch.stack([self[site] for site in range(len(self))])

    def plus(self, other: Tensor, join: Callable[[Tensor, Tensor, int], object]) -> "Kept":
        """This tensor joined with another one site by site, in a new file: one site is in memory at a time."""
        if len(self.checks) == 1:
            mine = self.whole()
            for site in range(len(self)):
                join(mine[site], other[site], site)
            return self.shelf.put(mine, "total")
        name = self.shelf.name("total")
        at, checks = self.shelf.end(name), []
        for site in range(len(self)):
            mine = self[site]
            join(mine, other[site], site)
            checks.append(self.shelf.write(name, mine))
        return Kept(self.shelf, name, at, self.dtype, self.shape, tuple(checks))

    def moved(self, kind: str) -> "Kept":
        """The same in the current file of a kind."""
        name = self.shelf.name(kind)
        if self.file == name:
            return self
        at = self.shelf.end(name)
        for piece in [self.whole()] if len(self.checks) == 1 else (self[site] for site in range(len(self))):
            self.shelf.write(name, piece)
        return Kept(self.shelf, name, at, self.dtype, self.shape, self.checks)

    def check(self) -> None:
        """Raise Damaged unless every piece is as it was written."""
        if len(self.checks) == 1:
            self.whole()
            return
        for site in range(len(self)):
            self[site]

    def read(self, at: int, shape: tuple[int, ...], check: int | None) -> Tensor:
        """Numbers of the file, compared with their checksum where there is one."""
        array = np.empty(shape, self.dtype)
        content = array.reshape(-1).view(np.uint8).data
        self.shelf.read(self.file, at, content)
        if check is not None and zlib.crc32(content) != check:
            raise Damaged(f"a checksum of {self.file} differs")
        return torch.from_numpy(array)


def pieces(tensor: Tensor) -> list[Tensor]:
    """The parts of a tensor that have a checksum of their own."""
    large = tensor.ndim > 1 and tensor.nbytes > PIECE
    return list(tensor) if large else [tensor]


def named(name: str) -> bool:
    """Whether a file may be one of a shelf."""
    return re.fullmatch(r"(finished|total)-[0-9]{5,9}\.bin", name) is not None

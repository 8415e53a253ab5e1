"""Files that appear when they are whole: an older one stays until then, and what a kill leaves behind is swept up."""

import os
import re
import shutil
import socket
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from armillary.errors import StoreError, not_written

_TEMPORARY = re.compile(r"\..+\.((?P<host>[0-9a-f]{8})-)?(?P<process>\d{1,10})\.(tmp|room)", re.DOTALL)
STALE = 24 * 3600.0
"""Seconds after which another machine's temporary file, of whose process nothing is known here, is given up."""


def temporary(path: Path) -> Path:
    """Where a file or folder is made until it is whole: a hidden name that says by which process of which machine."""
    return path.with_name(f".{path.name}.{this_machine()}-{os.getpid()}.tmp")


def this_machine() -> str:
    """Eight letters for this machine: a folder may be shared by several."""
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def sweep(folder: Path) -> None:
    """Remove what processes that live no more left behind in a folder while they wrote."""
    with suppress(OSError):
        for entry in sorted(folder.iterdir()):
            if left_behind(entry):
                shutil.rmtree(
                    entry, ignore_errors=True
                ) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def left_behind(path: Path) -> bool:
    """Whether a path is a temporary one whose process has ended; of another machine's, whether it rests for a day."""
    named = _TEMPORARY.fullmatch(path.name)
    if named is None:
        return False
    if named["host"] in (None, this_machine()):
        return not psutil.pid_exists(int(named["process"]))
    return time.time() - path.lstat().st_mtime > STALE


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` in one step when the block ends well, and goes if it fails.

    What the disk refuses is a StoreError.
    """
    if path.is_dir():
        raise StoreError(f"expected a file to write, got the folder {path}: choose a file")
    fresh = temporary(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent)
        yield fresh
        publish(fresh, path)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        with suppress(OSError):
            fresh.unlink()


def publish(fresh: Path, path: Path) -> None:
    """Give a whole file its name, so that after a power cut there is the older or the new one, and either is whole."""
    with fresh.open("rb+") as file:
        os.fsync(file.fileno())
    os.replace(fresh, path)
    if os.name == "posix":  # elsewhere a folder cannot be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with replacing(path) as fresh:
        fresh.write_text(text, encoding="utf-8", newline="\n")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with replacing(path) as fresh:
        fresh.write_bytes(content)

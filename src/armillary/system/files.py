"""Files that appear when they are whole: an older one stays until then, and nothing else is left behind."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from armillary.errors import not_written


def temporary(path: Path) -> Path:
    """Where a file is written until it is whole."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` in one step when the block ends well, and goes if it fails.

    What the disk refuses is a StoreError.
    """
    fresh = temporary(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield fresh
        os.replace(fresh, path)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        with suppress(OSError):
            fresh.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with replacing(path) as fresh:
        fresh.write_text(text, encoding="utf-8", newline="\n")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with replacing(path) as fresh:
        fresh.write_bytes(content)

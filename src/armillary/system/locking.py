"""One command at a time where two would spoil each other's work."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from armillary.errors import StoreError, reason

LOCK = ".lock"


@contextmanager
def alone(folder: Path, what: str) -> Iterator[None]:
    """Whoever works in a folder, alone; the system opens the lock of a process that was killed."""
    lock = FileLock(folder / LOCK)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise StoreError(
            f"expected a folder that no other process writes to, got {folder.parent}, where {what} is running: wait "
            f"for it, or choose another --out"
        ) from None
    except OSError as error:
        raise StoreError(f"cannot make the folder {folder} ({reason(error)}): choose another --out") from error
    try:
        yield
    finally:
        with suppress(OSError):
            (folder / LOCK).unlink()
        lock.release()
        with suppress(OSError):
            folder.rmdir()

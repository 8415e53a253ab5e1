"""Memory in mappings of its own: what lasts, and what is lent again and again."""

import mmap
import weakref
from contextlib import suppress
from threading import RLock

import numpy as np


def mapping(size: int) -> mmap.mmap:
    """Zeros of this process alone, in large pages where the system has them: clearing small ones takes longer."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, max(size, 1))
    memory = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # A kernel built without large pages refuses the advice, and gives small ones.
        with suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


class Lender:
    """Lends memory that is used anew as soon as nobody looks at it any more.

    Memory that is given back to the system and asked for again is cleared page by page every time. Of what comes back
    while more than `most` pieces are out or wait, none is kept.
    """

    def __init__(self, most: int) -> None:
        self.most, self.pieces = most, 0
        self.free: list[mmap.mmap] = []
        self.lock = RLock()  # a piece may come back in the middle of anything, also of lending

    def lend(self, size: int) -> np.ndarray:
        """Bytes that hold anything; they come back when the last array or tensor that looks at them is gone."""
        with self.lock:
            memory = self.free.pop() if self.free else None
            if memory is None or len(memory) < size:
                self.pieces += memory is None
                memory = mapping(size)
        # Whatever is made of this array holds it, and so says when all of it is gone.
        lent = np.frombuffer(memory, np.uint8)
        weakref.finalize(lent, self.returned, memory).atexit = False
        return lent[:size]

    def returned(self, memory: mmap.mmap) -> None:
        """A piece that nobody looks at any more."""
        with self.lock:
            if self.pieces > self.most:
                self.pieces -= 1
            else:
                self.free.append(memory)

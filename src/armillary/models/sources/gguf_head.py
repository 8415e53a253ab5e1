"""The head of a GGUF file, walked before a library reads it: counts, lengths and shapes against the bytes there are."""

import struct
from math import prod
from pathlib import Path
from typing import BinaryIO

from armillary.errors import SourceError
from armillary.models.sources.declared import refuse_excess

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value by its type in the file."""

FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TEXT, LIST = 8, 9
NAME, DIMENSIONS, NESTED = 1 << 16, 4, 2
"""The longest name, the most axes of a tensor, and how deep lists may stand in lists."""


class Head:
    """A file that is read forward and never beyond its end."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file, self.path, self.size = file, path, path.stat().st_size

    def broken(self, why: str) -> SourceError:
        """What is wrong with the file."""
        return SourceError(
            f"expected a complete GGUF file at {self.path}, got a truncated or damaged one ({why}): fetch it again"
        )

    def number(self, kind: str) -> int | float:
        """The next number."""
        raw = self.file.read(struct.calcsize("<" + kind))
        if len(raw) < struct.calcsize("<" + kind):
            raise self.broken("it ends early")
        return struct.unpack("<" + kind, raw)[0]

    def count(self, each: int, what: str) -> int:
        """The next number of things of `each` bytes at least, no more than the rest of the file can hold."""
        found = int(self.number("Q"))
        if found * each > self.size - self.file.tell():
            raise self.broken(f"it declares {found} {what}")
        return found

    def text(self, most: int | None = None) -> bytes:
        """The next text."""
        length = self.count(1, "letters")
        if most is not None and length > most:
            raise self.broken(f"it declares a name of {length} letters")
        return self.file.read(length)

    def value(self, kind: int, deep: int = 0) -> int | float | None:
        """The next value of a type; texts and lists are passed by."""
        if kind == TEXT:
            self.text()
            return None
        if kind == LIST and deep < NESTED:
            inner = int(self.number("I"))
            count = self.count(SIZES.get(inner, 8), "entries")
            if inner in SIZES:
                self.file.seek(count * SIZES[inner], 1)
                return None
            for _ in range(count):
                self.value(inner, deep + 1)
            return None
        if kind not in FORMATS:
            raise self.broken(f"it holds a value of type {kind}")
        return self.number(FORMATS[kind])


def refuse_excess_gguf(path: Path) -> int:
    """Refuse a file whose head declares more than the file holds, or more blocks than any model has.

    Returns how many numbers its tensors hold.
    """
    import gguf

    known = {int(kind): size for kind, size in gguf.GGML_QUANT_SIZES.items()}
    with path.open("rb") as file:
        head = Head(file, path)
        file.read(4)
        if head.number("I") not in (2, 3):
            raise head.broken("its version is neither 2 nor 3")
        tensors, values = head.count(24, "tensors"), head.count(13, "values")
        config: dict[str, object] = {}
        for _ in range(values):
            name = head.text(NAME).decode("utf-8", "replace")
            config[name] = head.value(int(head.number("I")))
        refuse_excess(config, path)
        blocks = [value for name, value in config.items() if name.endswith(".block_count")]
        if len(blocks) != 1 or not isinstance(blocks[0], int) or blocks[0] > tensors:  # each would be looked for
            raise head.broken(f"it declares {blocks[0] if blocks else 'no number of'} blocks and {tensors} tensors")
        total = numbers = 0
        for _ in range(tensors):
            head.text(NAME)
            axes = int(head.number("I"))
            if axes > DIMENSIONS:
                raise head.broken(f"it declares a tensor of {axes} axes")
            shape = [int(head.number("Q")) for _ in range(axes)]
            kind, start = int(head.number("I")), int(head.number("Q"))
            if kind not in known:
                raise head.broken(f"it holds a tensor of type {kind}")
            block, width = known[kind]
            numbers += prod(shape)
            total += -(-prod(shape) // block) * width
            if total > head.size or start > head.size:
                raise head.broken("its tensors are larger than the file")
        return numbers

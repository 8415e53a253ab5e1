"""Weights as pages of their files: read when they are used, given up when memory is wanted, never copied."""

import json
import mmap
import warnings
from collections import Counter
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any

import torch

FLOATS = {"F64": torch.float64, "F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}
KINDS = FLOATS | {"I64": torch.int64, "I32": torch.int32, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool}
"""What safetensors call the types of numbers that can be read in place."""

HEAD = 8
"""The number of bytes at the start of a file that say how long its head is."""


def stored_dtype(files: Iterable[Path]) -> torch.dtype | None:
    """The float type that most numbers of some safetensors have; None where they hold no floats."""
    sizes: Counter[torch.dtype] = Counter()
    for file in files:
        for tensor in head_of(file).values():
            if tensor["dtype"] in FLOATS:
                sizes[FLOATS[tensor["dtype"]]] += prod(tensor["shape"])
    return sizes.most_common(1)[0][0] if sizes else None


def numbers_of(files: Iterable[Path]) -> int:
    """How many numbers some safetensors hold."""
    return sum(prod(tensor["shape"]) for file in files for tensor in head_of(file).values())


def paged(files: Iterable[Path]) -> dict[str, torch.Tensor] | None:
    """Every tensor of some safetensors by name, not to be written to; None where a type cannot be read in place.

    The mapping is shared with the file and read-only: the system counts none of it as this process's memory. One that
    could be written to would have to be backed by memory, and fails for a file larger than that.
    """
    found: dict[str, torch.Tensor] = {}
    for file in files:
        head = head_of(file)
        if any(tensor["dtype"] not in KINDS for tensor in head.values()):
            return None
        with file.open("rb") as opened:
            pages = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        start = HEAD + int.from_bytes(pages[:HEAD], "little")
        found |= {name: tensor_of(pages, start, tensor) for name, tensor in head.items()}
    return found


def head_of(file: Path) -> dict[str, Any]:
    """What a file of safetensors says of its tensors: type, shape and place of each."""
    with file.open("rb") as opened:
        head = json.loads(opened.read(int.from_bytes(opened.read(HEAD), "little")))
    head.pop("__metadata__", None)
    return dict(head)


def tensor_of(pages: mmap.mmap, start: int, tensor: dict[str, Any]) -> torch.Tensor:
    """One tensor in place."""
    kind, shape = KINDS[tensor["dtype"]], tensor["shape"]
    if not prod(shape):
        return torch.empty(shape, dtype=kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it cannot be written to, as is meant
        flat = torch.frombuffer(pages, dtype=kind, count=prod(shape), offset=start + tensor["data_offsets"][0])
    return flat.reshape(shape)

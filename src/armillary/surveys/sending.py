"""Sums on their way between processes: plain structure and plain arrays, which travel without being copied."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from armillary.surveys.checkpoint import flattened, rebuilt
from armillary.surveys.sums.batch import lasting

Sent = tuple[Any, dict[str, np.ndarray]]
"""A record taken apart: its structure, and its tensors as arrays by the name of their place."""

ROUNDING = 1e-2
"""Up to which share of the largest number pilots of one model may differ between two kinds of processor."""


def sent(record: Any) -> Sent:
    """A record of sums, all of them in memory, ready to be sent."""
    tensors: dict[str, Any] = {}
    structure = flattened(record, "", tensors)
    return structure, {name: tensor.contiguous().numpy() for name, tensor in tensors.items()}


def received(parcel: Sent) -> Any:
    """The record again, in memory of its own: what arrives may lie where nothing can be added to it."""
    structure, arrays = parcel
    return rebuilt(structure, {name: owned(array) for name, array in arrays.items()})


def owned(array: np.ndarray) -> Tensor:
    """A copy that sums can be added to."""
    copy = lasting(*array.shape, dtype=array.dtype)
    copy.numpy()[...] = array
    return copy


def same_bits(mine: Sent, other: Sent) -> bool:
    """Whether two records hold the same numbers."""
    return agrees(mine, other, 0.0)


def agrees(mine: Sent, other: Sent, tolerance: float) -> bool:
    """Whether two records hold the same numbers up to a share of the largest one of each tensor."""
    (structure, arrays), (other_structure, others) = mine, other
    if structure != other_structure or arrays.keys() != others.keys():
        return False
    return all(near(array, others[name], tolerance) for name, array in arrays.items())


def near(mine: np.ndarray, other: np.ndarray, tolerance: float) -> bool:
    """Whether two arrays agree."""
    if mine.shape != other.shape or mine.dtype != other.dtype:
        return False
    if not tolerance:
        return mine.tobytes() == other.tobytes()
    one, two = torch.from_numpy(mine.copy()), torch.from_numpy(other.copy())
    return bool(mine.size == 0 or (one - two).abs().max() <= tolerance * one.abs().max())

"""Singular triplets of a product of thin factors, and the planes that near-equal singular values leave undetermined."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

RATIO = 1.001
"""Neighbouring singular values whose ratio is below this span a plane: no direction in it is the model's own."""


class Triplets(NamedTuple):
    """left · diag(value) · rightᵀ, largest first: x W = Σ value_i ⟨x, left_i⟩ right_i."""

    left: Float[np.ndarray, "d_model mode"]
    value: Float[np.ndarray, " mode"]
    right: Float[np.ndarray, "d_model mode"]


def triplets(first: Float[np.ndarray, "d_model d_head"], second: Float[np.ndarray, "d_model d_head"]) -> Triplets:
    """The singular triplets of first · secondᵀ, float64, from two thin QRs; nothing of d_model × d_model is made."""
    left, upper = np.linalg.qr(first.astype(np.float64, copy=False))
    right, upper_ = np.linalg.qr(second.astype(np.float64, copy=False))
    inner_left, value, inner_right = np.linalg.svd(upper @ upper_.T)
    return Triplets(left @ inner_left, value, right @ inner_right.T)


def rank(value: Float[np.ndarray, " mode"], d_model: int) -> int:
    """How many singular values are not rounding: above the largest · d_model · the precision of float64."""
    return int(np.sum(value > value[0] * d_model * np.finfo(np.float64).eps)) if value.size else 0


def planes(value: Float[np.ndarray, " mode"], rank: int, ratio: float = RATIO) -> Int[np.ndarray, "mode 2"]:
    """For each mode the first mode of its plane and the first one behind it; both 0 beyond the rank.

    Neighbours whose ratio is below `ratio` share a plane, and so do their neighbours in turn. A mode with a plane of
    its own is a direction.
    """
    found = np.zeros((len(value), 2), dtype=np.int64)
    joined = value[: rank - 1] < ratio * value[1:rank] if rank > 1 else np.zeros(0, dtype=bool)
    starts = np.flatnonzero(np.concatenate([np.ones(min(rank, 1), dtype=bool), ~joined]))
    for start, end in zip(starts, [*starts[1:], rank], strict=False):
        found[start:end] = start, end
    return found

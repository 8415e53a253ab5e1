"""What accumulators are given: the states of a few windows at every site, and what is known about each token."""

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import DTypeLike
from torch import Tensor

from armillary.surveys.sums.frame import Frame
from armillary.surveys.sums.shelf import Kept
from armillary.system.mappings import mapping

Large = Tensor | Kept
"""A sum over many tokens at every site: in memory, or on disk while nothing is added to it."""

HOST = torch.device("cpu")

Sum = TypeVar("Sum", int, Tensor, Large)


@dataclass(frozen=True)
class Batch:
    """The states of some windows at every site of one kind, position 0 already set apart when it is dropped.

    `states` are zero where a token is left out: what every sum runs over. `norms` are those of all tokens. `scatter`
    says whether products of the states are asked for; in a `frame`, where there is one, they are also kept by group.
    """

    states: tuple[Float[Tensor, "context position d_model"], ...]
    norms: Float[Tensor, "site context position"]
    kept: Bool[Tensor, "context position"]
    contexts: tuple[int, ...]
    groups: tuple[int, ...]
    shifts: tuple[int, ...]
    scatter: bool
    frame: Frame | None = None
    first: Float[Tensor, "site context d_model"] | None = None

    @cached_property
    def totals(self) -> Float[Tensor, "site context d_model"]:
        """The sum of every window over its kept tokens, in float64."""
        total = lasting(len(self.states), len(self.contexts), self.states[0].shape[-1], at=self.at)
        for into, states in zip(total, self.states, strict=True):
            torch.sum(states, 1, dtype=torch.float64, out=into)
        return total

    @property
    def at(self) -> torch.device:
        """Where the states are, and their sums are made."""
        return self.states[0].device

    def runs(self) -> Iterator[tuple[int, slice]]:
        """Consecutive windows of the same group."""
        start = 0
        for end in range(1, len(self.groups) + 1):
            if end == len(self.groups) or self.groups[end] != self.groups[start]:
                yield self.groups[start], slice(start, end)
                start = end


def blanked(states: tuple[Tensor, ...], kept: Bool[Tensor, "context position"]) -> tuple[Tensor, ...]:
    """The states with zeros where a token is left out, in place: a copy of all sites would cost as much as the sums."""
    if kept.device != HOST:
        # Whether a token is left out is not asked there: the host would have to wait for the answer.
        for site in states:
            site.masked_fill_(~kept[..., None], 0)
    elif not bool(kept.all()):
        for site in states:
            site[~kept] = 0
    return states


def number(mask: Bool[Tensor, "..."]) -> int | Tensor:
    """How many are true; not yet known to the host where it would have to wait for it."""
    return int(mask.sum()) if mask.device == HOST else mask.sum(dtype=torch.float64)


def at_least_one(count: int | Tensor) -> int | Tensor:
    """A count to divide by."""
    return count.clamp_min(1) if isinstance(count, Tensor) else max(count, 1)


def lengths(states: Float[Tensor, "context position d_model"]) -> Float[Tensor, "context position"]:
    """‖x‖ of every token, summed in float64."""
    return torch.linalg.vector_norm(states, dim=-1, dtype=torch.float64)


def lasting(*shape: int, dtype: DTypeLike = np.float64, at: torch.device = HOST) -> Tensor:
    """Zeros in a mapping of their own: what outlives a batch must not lie between what comes and goes.

    Devices other than the host look after their memory themselves.
    """
    if at != HOST:
        return torch.zeros(shape, dtype=torch.float32 if dtype == np.float32 else torch.float64, device=at)
    count = math.prod(shape)
    return torch.from_numpy(np.frombuffer(mapping(np.dtype(dtype).itemsize * count), dtype, count).reshape(shape))


def emptied(tensor: Tensor) -> None:
    """Give back the memory of a sum that was read for the last time; a record that still holds it is given up."""
    tensor.set_(torch.UntypedStorage())


def in_memory(mine: Large) -> Tensor:
    """A sum to which a batch is added: a shard's, which is never on disk."""
    if isinstance(mine, Kept):
        raise AssertionError("expected a shard's sums in memory, got them on disk: only a total waits there")
    return mine


def in_place(mine: Large, other: Large) -> Large:
    """The sum of both where the first one lies, as a new object: it says that something changed."""
    if isinstance(mine, Kept):
        return mine.plus(in_memory(other), lambda own, more, site: own.add_(more))
    return mine.add_(in_memory(other)).detach()


def by_group(
    mine: dict[int, Sum], other: dict[int, Sum], plus: Callable[[Sum, Sum], Sum] = operator.add
) -> dict[int, Sum]:
    """Two tables of sums by group in a new one. A group that only one side knows is passed on, not copied."""
    both = {group: plus(mine[group], other[group]) for group in mine.keys() & other.keys()}
    return dict(sorted({**mine, **other, **both}.items()))

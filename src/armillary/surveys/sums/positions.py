"""Sums at each position: by group of documents for the position basis and its errors, and shifted for the null."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.surveys.sums.batch import Batch, by_group, in_memory, in_place, lasting
from armillary.surveys.sums.shelf import Kept


@dataclass(frozen=True)
class Positions:
    """For each group of documents, the sum of the states at each position, and how many tokens it holds.

    Groups that are finished may lie on disk.
    """

    sums: dict[int, Float[Tensor, "site position d_model"] | Kept]
    counts: dict[int, Tensor]

    @classmethod
    def of(cls, batch: Batch) -> "Positions":
        """The sums of one batch at every site."""
        return cls({}, {}).add(batch)

    def add(self, batch: Batch) -> "Positions":
        """These sums and a batch's, in place: this record is given up."""
        sums, counts = dict(self.sums), dict(self.counts)
        for group, run in batch.runs():
            count, mine = batch.kept[run].sum(0), sums.get(group)
            if isinstance(mine, Tensor):
                for into, states in zip(mine, batch.states, strict=True):
                    into += states[run].sum(0, dtype=torch.float64)
                sums[group], counts[group] = mine.detach(), counts[group] + count
            else:
                mine = lasting(len(batch.states), *batch.states[0].shape[1:], at=batch.at)
                for into, states in zip(mine, batch.states, strict=True):
                    torch.sum(states[run], 0, dtype=torch.float64, out=into)
                sums[group], counts[group] = mine, count
        return Positions(sums, counts)

    def merge(self, other: "Positions") -> "Positions":
        """The sums of both, in place: both records are given up."""
        return Positions(by_group(self.sums, other.sums, in_place), by_group(self.counts, other.counts))


@dataclass(frozen=True)
class CircularShift:
    """The circular-shift null: sums at each position after every window was shifted by its own random offset.

    A circular shift keeps the text's autocorrelation and takes away what belongs to a position.
    """

    sums: Float[Tensor, "site position d_model"] | Kept

    @classmethod
    def of(cls, batch: Batch) -> "CircularShift":
        """The null of one batch."""
        return cls(lasting(len(batch.states), *batch.states[0].shape[1:], at=batch.at)).add(batch)

    def add(self, batch: Batch) -> "CircularShift":
        """This null and a batch's, in place: this record is given up."""
        sums = in_memory(self.sums)
        length = sums.shape[1]
        for into, states in zip(sums, batch.states, strict=True):
            for window, shift in zip(states, batch.shifts, strict=True):
                into[shift:] += window[: length - shift]
                into[:shift] += window[length - shift :]
        return CircularShift(sums.detach())

    def merge(self, other: "CircularShift") -> "CircularShift":
        """The sums of both, in place: both records are given up."""
        return CircularShift(in_place(self.sums, other.sums))

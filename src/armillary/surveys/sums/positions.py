"""Sums at each position: by group of documents for the position basis and its errors, and turned for the null."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.surveys.sums.batch import Batch, added, lasting


@dataclass(frozen=True)
class Positions:
    """For each group of documents, the sum of the states at each position, and how many tokens it holds."""

    sums: dict[int, Float[Tensor, "site position d_model"]]
    counts: dict[int, Tensor]

    @classmethod
    def of(cls, batch: Batch) -> "Positions":
        """The sums of one batch at every site."""
        return cls({}, {}).extended(batch)

    def extended(self, batch: Batch) -> "Positions":
        """These sums and a batch's, added in place: this record is given up."""
        for group, run in batch.runs():
            count = batch.kept[run].sum(0)
            if group in self.sums:
                for into, states in zip(self.sums[group], batch.states, strict=True):
                    into += states[run].sum(0, dtype=torch.float64)
                self.counts[group] += count
            else:
                self.sums[group] = lasting(len(batch.states), *batch.states[0].shape[1:])
                for into, states in zip(self.sums[group], batch.states, strict=True):
                    torch.sum(states[run], 0, dtype=torch.float64, out=into)
                self.counts[group] = count
        return self

    def absorbed(self, other: "Positions") -> "Positions":
        """The sums of both, in place; a new tensor object says that something changed."""
        both = {group: self.sums[group].add_(other.sums[group]).detach() for group in self.sums.keys() & other.sums}
        sums = dict(sorted({**self.sums, **other.sums, **both}.items()))
        return Positions(sums, added(self.counts, other.counts))

    def merge(self, other: "Positions") -> "Positions":
        """The sums of both."""
        return Positions(added(self.sums, other.sums), added(self.counts, other.counts))


@dataclass(frozen=True)
class Turned:
    """The null: sums at each position after every window was turned by its own random offset.

    A circular shift keeps the text's autocorrelation and takes away what belongs to a position.
    """

    sums: Float[Tensor, "site position d_model"]

    @classmethod
    def of(cls, batch: Batch) -> "Turned":
        """The null of one batch."""
        return cls(lasting(len(batch.states), *batch.states[0].shape[1:])).extended(batch)

    def extended(self, batch: Batch) -> "Turned":
        """This null and a batch's, added in place: this record is given up."""
        length = self.sums.shape[1]
        for into, states in zip(self.sums, batch.states, strict=True):
            for window, shift in zip(states, batch.shifts, strict=True):
                into[shift:] += window[: length - shift]
                into[:shift] += window[length - shift :]
        return self

    def absorbed(self, other: "Turned") -> "Turned":
        """The sums of both, in place; a new tensor object says that something changed."""
        return Turned(self.sums.add_(other.sums).detach())

    def merge(self, other: "Turned") -> "Turned":
        """The sums of both."""
        return Turned(self.sums + other.sums)

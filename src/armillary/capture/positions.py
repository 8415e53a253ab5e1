"""Sums at each position, by group of documents: what the position basis, its errors and its null are made of."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.capture.batch import Batch, added


@dataclass(frozen=True)
class Positions:
    """For each group of documents, the sum of the states at each position, and how many tokens it holds."""

    sums: dict[int, Float[Tensor, "site position d_model"]]
    counts: dict[int, Tensor]

    @classmethod
    def of(cls, batch: Batch) -> "Positions":
        """The sums of one batch at every site."""
        whole = cls({}, {})
        for group, run in batch.runs():
            total = torch.empty(len(batch.states), *batch.states[0].shape[1:], dtype=torch.float64)
            for into, states in zip(total, batch.masked, strict=True):
                torch.sum(states[run], 0, dtype=torch.float64, out=into)
            whole = whole.merge(cls({group: total}, {group: batch.kept[run].sum(0)}))
        return whole

    @classmethod
    def turned(cls, batch: Batch, groups: Sequence[int]) -> "Positions":
        """The null: every window turned by its own offset first.

        A circular shift keeps the text's autocorrelation and takes away what belongs to a position.
        """
        states = batch.masked
        length, width = states[0].shape[1:]
        sums: dict[int, Tensor] = {}
        counts: dict[int, Tensor] = {}
        for context, (group, turn) in enumerate(zip(groups, batch.turns, strict=True)):
            if group not in sums:
                sums[group] = torch.zeros(len(states), length, width, dtype=torch.float64)
                counts[group] = torch.zeros(length, dtype=torch.int64)
            for into, site in zip(sums[group], states, strict=True):
                into[turn:] += site[context, : length - turn]
                into[:turn] += site[context, length - turn :]
            counts[group] += batch.kept[context].roll(turn)
        return cls(sums, counts)

    def merge(self, other: "Positions") -> "Positions":
        """The sums of both."""
        return Positions(added(self.sums, other.sums), added(self.counts, other.counts))

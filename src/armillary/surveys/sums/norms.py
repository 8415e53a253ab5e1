"""Lengths of the states: mean and largest at each position, by group of documents."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.surveys.sums.batch import Batch, by_group


@dataclass(frozen=True)
class Norms:
    """For each group, the sum of ‖x‖ over the kept tokens at each position; over all, the largest ‖x‖ of any token."""

    sums: dict[int, Float[Tensor, "site position"]]
    counts: dict[int, Tensor]
    largest: Float[Tensor, "site position"]

    @classmethod
    def of(cls, batch: Batch) -> "Norms":
        """The norms of one batch; the largest is over all tokens, also those left out of the sums."""
        kept = batch.norms.masked_fill(~batch.kept, 0)
        norms = cls({}, {}, batch.norms.amax(1))
        for group, run in batch.runs():
            norms = norms.merge(
                cls({group: kept[:, run].sum(1)}, {group: batch.kept[run].sum(0)}, torch.zeros_like(norms.largest))
            )
        return norms

    def add(self, batch: Batch) -> "Norms":
        """These norms and a batch's."""
        return self.merge(Norms.of(batch))

    def merge(self, other: "Norms") -> "Norms":
        """The norms of both."""
        return Norms(
            by_group(self.sums, other.sums),
            by_group(self.counts, other.counts),
            torch.maximum(self.largest, other.largest),
        )

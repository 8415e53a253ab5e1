"""The sum over each window: one vector per window and site, the only thing that grows with the corpus."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.surveys.sums.batch import Batch, lasting


@dataclass(frozen=True)
class Contexts:
    """Sums over the kept tokens of each window, in chunks as they were read: a chunk is never copied again.

    A chunk is known by its first window; its windows follow each other in `order`.
    """

    sums: dict[int, Float[Tensor, "site _ d_model"]]
    order: dict[int, tuple[int, ...]]

    @classmethod
    def of(cls, batch: Batch) -> "Contexts":
        """The windows of one batch."""
        return cls({batch.contexts[0]: batch.totals}, {batch.contexts[0]: batch.contexts})

    def add(self, batch: Batch) -> "Contexts":
        """These windows and a batch's."""
        return self.merge(Contexts.of(batch))

    def packed(self) -> "Contexts":
        """The same windows in one chunk with memory of its own; the chunks go."""
        starts = sorted(self.sums)
        sites, _, width = self.sums[starts[0]].shape
        order = tuple(context for start in starts for context in self.order[start])
        together = lasting(sites, len(order), width)
        torch.cat([self.sums[start] for start in starts], 1, out=together)
        return Contexts({starts[0]: together}, {starts[0]: order})

    def merge(self, other: "Contexts") -> "Contexts":
        """The windows of both."""
        return Contexts({**self.sums, **other.sums}, {**self.order, **other.order})

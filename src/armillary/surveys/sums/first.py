"""The states at position 0, kept apart when that position is dropped."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.surveys.sums.batch import Batch


@dataclass(frozen=True)
class First:
    """The sum of the states at position 0, and over how many windows; no windows where that position is kept."""

    count: int
    sums: Float[Tensor, "site d_model"]

    @classmethod
    def of(cls, batch: Batch) -> "First":
        """The first tokens of one batch."""
        if batch.first is None:
            return cls(
                0, torch.zeros(len(batch.states), batch.states[0].shape[-1], dtype=torch.float64, device=batch.at)
            )
        return cls(len(batch.contexts), batch.first.sum(1, dtype=torch.float64))

    def add(self, batch: Batch) -> "First":
        """These first tokens and a batch's."""
        return self.merge(First.of(batch))

    def merge(self, other: "First") -> "First":
        """Both sums."""
        return First(self.count + other.count, self.sums + other.sums)

"""A seeded sample of single tokens with their states in all layers, for what no sum can give."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.capture.batch import Batch


@dataclass(frozen=True)
class Sample:
    """Drawn tokens: window, position, token id, whether the outlier rule names it; and its states, in chunks."""

    tokens: tuple[tuple[int, int, int, bool], ...]
    states: tuple[Float[Tensor, "layer _ d_model"], ...]

    @classmethod
    def of(cls, batch: Batch, drawn: frozenset[tuple[int, int]]) -> "Sample":
        """The drawn (window, position) pairs that lie in this batch."""
        places = [
            (row, column)
            for row, context in enumerate(batch.contexts)
            for column in range(batch.tokens.shape[1])
            if (context, column + batch.first_position) in drawn
        ]
        if not places:
            return cls((), ())
        rows, columns = (list(axis) for axis in zip(*places, strict=True))
        named = tuple(
            (batch.contexts[r], c + batch.first_position, int(batch.tokens[r, c]), bool(batch.massive[r, c]))
            for r, c in places
        )
        return cls(named, (torch.stack([states[rows, columns].float() for states in batch.states]),))

    def merge(self, other: "Sample") -> "Sample":
        """The tokens of both."""
        return Sample(self.tokens + other.tokens, self.states + other.states)

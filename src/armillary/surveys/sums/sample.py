"""A seeded sample of single tokens with their states in all layers, for what no sum can give."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from armillary.surveys.sums.batch import lasting


@dataclass(frozen=True)
class Sample:
    """Drawn tokens: window, position, token id, whether the outlier rule names it; and its states, in chunks."""

    tokens: tuple[tuple[int, int, int, bool], ...]
    states: tuple[Float[Tensor, "layer _ d_model"], ...]

    @classmethod
    def of(
        cls,
        states: tuple[Float[Tensor, "context position d_model"], ...],
        tokens: Int[Tensor, "context position"],
        massive: Bool[Tensor, "context position"],
        contexts: tuple[int, ...],
        first_position: int,
        drawn: frozenset[tuple[int, int]],
    ) -> "Sample":
        """The drawn (window, position) pairs that lie in this batch; `first_position` is that of column 0."""
        places = [
            (row, column)
            for row, context in enumerate(contexts)
            for column in range(tokens.shape[1])
            if (context, column + first_position) in drawn
        ]
        if not places:
            return cls((), ())
        rows, columns = (list(axis) for axis in zip(*places, strict=True))
        named = tuple((contexts[r], c + first_position, int(tokens[r, c]), bool(massive[r, c])) for r, c in places)
        kept = lasting(len(states), len(places), states[0].shape[-1], dtype=np.float32)
        for into, site in zip(kept, states, strict=True):
            into.copy_(site[rows, columns])
        return cls(named, (kept,))

    def merge(self, other: "Sample") -> "Sample":
        """The tokens of both."""
        return Sample(self.tokens + other.tokens, self.states + other.states)

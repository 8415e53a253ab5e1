"""A seeded sample of single tokens with their states in all layers, for what no sum can give."""

from dataclasses import dataclass

import numpy as np
import torch
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
        places = drawn_places(contexts, tokens.shape[1], first_position, drawn)
        named = tuple((contexts[r], c + first_position, int(tokens[r, c]), bool(massive[r, c])) for r, c in places)
        return cls(named, drawn_states(states, places))

    def merge(self, other: "Sample") -> "Sample":
        """The tokens of both."""
        return Sample(self.tokens + other.tokens, self.states + other.states)


def drawn_places(
    contexts: tuple[int, ...], length: int, first_position: int, drawn: frozenset[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Row and column of the drawn tokens of a batch."""
    return [
        (row, column)
        for row, context in enumerate(contexts)
        for column in range(length)
        if (context, column + first_position) in drawn
    ]


def drawn_states(
    states: tuple[Float[Tensor, "context position d_model"], ...], places: list[tuple[int, int]]
) -> tuple[Float[Tensor, "layer _ d_model"], ...]:
    """The states of drawn tokens as a chunk, where they are; no chunk where none was drawn."""
    if not places:
        return ()
    kept = lasting(len(states), len(places), states[0].shape[-1], dtype=np.float32, at=states[0].device)
    for into, site in zip(kept, states, strict=True):
        into.copy_(torch.stack([site[row, column] for row, column in places]))
    return (kept,)

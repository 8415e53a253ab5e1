"""Massive activations: which tokens the rule names, and where they stand.

The medians come from the first windows of the first shard, so that the rule depends on neither batches nor workers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.measures.massive import massive
from armillary.surveys.sums.batch import lengths


@dataclass(frozen=True)
class Outliers:
    """The tokens of massive norm: window, position, token id, and norm over the layer's median in every layer."""

    tokens: tuple[tuple[int, int, int], ...]
    ratios: tuple[Float[Tensor, " layer"], ...]

    def merge(self, other: "Outliers") -> "Outliers":
        """The tokens of both."""
        return Outliers(self.tokens + other.tokens, self.ratios + other.ratios)


def medians(states: Sequence[Float[Tensor, "context position d_model"]]) -> Float[Tensor, " layer"]:
    """The median norm of each layer, over all tokens given."""
    return torch.stack([lengths(layer).median() for layer in states])


def outliers(
    ratios: Float[Tensor, "layer context position"],
    tokens: Tensor,
    contexts: tuple[int, ...],
    first_position: int,
) -> Outliers:
    """The massive tokens of one batch, named."""
    where = massive(ratios).nonzero().tolist()
    named = tuple((contexts[row], column + first_position, int(tokens[row, column])) for row, column in where)
    return Outliers(named, tuple(ratios[:, row, column].clone() for row, column in where))

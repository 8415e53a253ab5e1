"""Massive activations: which tokens the rule names, and where they stand."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from armillary.measures.massive import massive


@dataclass(frozen=True)
class Outliers:
    """The tokens of massive norm: window, position, token id, and norm over the layer's median in every layer."""

    tokens: tuple[tuple[int, int, int], ...]
    ratios: tuple[Float[Tensor, " layer"], ...]

    def merge(self, other: "Outliers") -> "Outliers":
        """The tokens of both."""
        return Outliers(self.tokens + other.tokens, self.ratios + other.ratios)


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

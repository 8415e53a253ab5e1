"""The sum over each window: one vector per window and site, the only thing that grows with the corpus."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from armillary.capture.batch import Batch


@dataclass(frozen=True)
class Contexts:
    """Sums over the kept tokens of each window, in chunks as they came: a chunk is never copied again."""

    sums: tuple[Float[Tensor, "site _ d_model"], ...]
    counts: tuple[Int[Tensor, " _"], ...]
    order: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, batch: Batch) -> "Contexts":
        """The windows of one batch."""
        return cls((batch.totals,), (batch.kept.sum(1),), (batch.contexts,))

    def merge(self, other: "Contexts") -> "Contexts":
        """The windows of both."""
        return Contexts(self.sums + other.sums, self.counts + other.counts, self.order + other.order)

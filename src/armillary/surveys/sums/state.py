"""All that one pass remembers: a frozen record of accumulators that merges field by field."""

from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.surveys.sums.batch import Batch
from armillary.surveys.sums.contexts import Contexts
from armillary.surveys.sums.heads import Heads
from armillary.surveys.sums.moments import Scatter, Spread
from armillary.surveys.sums.norms import Norms
from armillary.surveys.sums.outliers import Outliers
from armillary.surveys.sums.positions import Positions, Turned
from armillary.surveys.sums.sample import Sample

Record = TypeVar("Record", bound=Any)


@dataclass(frozen=True)
class First:
    """The sum of the states at position 0, kept apart when that position is dropped."""

    count: int
    sums: Float[Tensor, "site d_model"]

    @classmethod
    def of(cls, batch: Batch) -> "First":
        """The first tokens of one batch."""
        if batch.first is None:
            return cls(0, torch.zeros(len(batch.states), batch.states[0].shape[-1], dtype=torch.float64))
        return cls(len(batch.contexts), batch.first.sum(1, dtype=torch.float64))

    def merge(self, other: "First") -> "First":
        """Both sums."""
        return First(self.count + other.count, self.sums + other.sums)


@dataclass(frozen=True)
class Stream:
    """The accumulators of one kind of site: the residual stream, or the inputs of the attentions."""

    positions: Positions
    null: Turned
    contexts: Contexts
    spread: Spread
    scatter: Scatter | None
    norms: Norms
    first: First

    @classmethod
    def of(cls, batch: Batch, *, scatter: bool) -> "Stream":
        """The sums of one batch."""
        return cls(
            positions=Positions.of(batch),
            null=Turned.of(batch),
            contexts=Contexts.of(batch),
            spread=Spread.of(batch),
            scatter=Scatter.of(batch) if scatter else None,
            norms=Norms.of(batch),
            first=First.of(batch),
        )

    def extended(self, batch: Batch) -> "Stream":
        """This stream and a batch's; what is large is added in place, and this record is given up."""
        return Stream(
            positions=self.positions.extended(batch),
            null=self.null.extended(batch),
            contexts=self.contexts.merge(Contexts.of(batch)),
            spread=self.spread.merge(Spread.of(batch)),
            scatter=self.scatter.extended(batch) if self.scatter else None,
            norms=self.norms.merge(Norms.of(batch)),
            first=self.first.merge(First.of(batch)),
        )

    def packed(self) -> "Stream":
        """The same stream, its windows in one chunk."""
        return replace(self, contexts=self.contexts.packed())

    def absorbed(self, other: "Stream") -> "Stream":
        """Everything of both; what is large is added in place, and this record is given up."""
        return Stream(
            positions=self.positions.absorbed(other.positions),
            null=self.null.absorbed(other.null),
            contexts=self.contexts.merge(other.contexts),
            spread=self.spread.merge(other.spread),
            scatter=self.scatter.absorbed(other.scatter) if self.scatter and other.scatter else None,
            norms=self.norms.merge(other.norms),
            first=self.first.merge(other.first),
        )

    def merge(self, other: "Stream") -> "Stream":
        """Everything of both."""
        return merged(self, other)


@dataclass(frozen=True)
class State:
    """Everything that a pass remembers. `attention` is missing where it was not asked for or is the residual stream.

    `heads` is missing where it was not asked for.
    """

    residual: Stream
    attention: Stream | None
    outliers: Outliers
    sample: Sample
    heads: Heads | None = None

    def packed(self) -> "State":
        """The same state, its windows in one chunk: what a shard hands on."""
        attention = self.attention.packed() if self.attention else None
        return replace(self, residual=self.residual.packed(), attention=attention)

    def absorbed(self, other: "State") -> "State":
        """Everything of both; what is large is added in place, and this record is given up."""
        return State(
            residual=self.residual.absorbed(other.residual),
            attention=self.attention.absorbed(other.attention) if self.attention and other.attention else None,
            outliers=self.outliers.merge(other.outliers),
            sample=self.sample.merge(other.sample),
            heads=self.heads.merge(other.heads) if self.heads and other.heads else None,
        )

    def merge(self, other: "State") -> "State":
        """Everything of both."""
        return merged(self, other)


def merged(mine: Record, other: Record) -> Record:
    """Two records in one, field by field."""
    pairs = ((field.name, getattr(mine, field.name), getattr(other, field.name)) for field in fields(mine))
    return type(mine)(**{name: left if right is None else left.merge(right) for name, left, right in pairs})

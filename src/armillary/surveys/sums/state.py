"""All that one pass remembers: frozen records of accumulators, which grow field by field."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from armillary.surveys.sums.batch import Batch
from armillary.surveys.sums.contexts import Contexts
from armillary.surveys.sums.first import First
from armillary.surveys.sums.heads import Heads
from armillary.surveys.sums.leading import Leading
from armillary.surveys.sums.moments import Scatter, Spread
from armillary.surveys.sums.norms import Norms
from armillary.surveys.sums.outliers import Outliers
from armillary.surveys.sums.positions import CircularShift, Positions
from armillary.surveys.sums.sample import Sample

Record = TypeVar("Record", bound=Any)
Part = TypeVar("Part")
More = TypeVar("More")


@dataclass(frozen=True)
class Stream:
    """The accumulators of one kind of site: the residual stream, or the inputs of the attentions."""

    positions: Positions
    null: CircularShift
    contexts: Contexts
    spread: Spread
    scatter: Scatter | None
    leading: Leading | None
    norms: Norms
    first: First

    @classmethod
    def of(cls, batch: Batch) -> "Stream":
        """The sums of one batch."""
        return cls(
            positions=Positions.of(batch),
            null=CircularShift.of(batch),
            contexts=Contexts.of(batch),
            spread=Spread.of(batch),
            scatter=Scatter.of(batch) if batch.scatter else None,
            leading=Leading.of(batch) if batch.frame else None,
            norms=Norms.of(batch),
            first=First.of(batch),
        )

    def add(self, batch: Batch) -> "Stream":
        """This stream and a batch's; this record is given up."""
        return Stream(
            positions=self.positions.add(batch),
            null=self.null.add(batch),
            contexts=self.contexts.add(batch),
            spread=self.spread.add(batch),
            scatter=joined("scatter", self.scatter, batch if batch.scatter else None, Scatter.add),
            leading=joined("leading", self.leading, batch if batch.frame else None, Leading.add),
            norms=self.norms.add(batch),
            first=self.first.add(batch),
        )

    def merge(self, other: "Stream") -> "Stream":
        """Everything of both; both records are given up."""
        return merged(self, other)

    def packed(self) -> "Stream":
        """The same stream, its windows in one chunk."""
        return replace(self, contexts=self.contexts.packed())


@dataclass(frozen=True)
class Increment:
    """What one batch brings to a state: the states at both kinds of site, and what is known of single tokens and heads.

    `attention` and `heads` are missing where they are missing in the state.
    """

    residual: Batch
    attention: Batch | None
    outliers: Outliers
    sample: Sample
    heads: Heads | None = None


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

    @classmethod
    def of(cls, more: Increment) -> "State":
        """The state after one batch."""
        attention = None if more.attention is None else Stream.of(more.attention)
        return cls(Stream.of(more.residual), attention, more.outliers, more.sample, more.heads)

    def add(self, more: Increment) -> "State":
        """The state after one more batch; this record is given up."""
        return State(
            residual=self.residual.add(more.residual),
            attention=joined("attention", self.attention, more.attention, Stream.add),
            outliers=self.outliers.merge(more.outliers),
            sample=self.sample.merge(more.sample),
            heads=joined("heads", self.heads, more.heads, Heads.merge),
        )

    def merge(self, other: "State") -> "State":
        """Everything of both; both records are given up."""
        return merged(self, other)

    def packed(self) -> "State":
        """The same state, its windows in one chunk: what a shard hands on."""
        attention = self.attention.packed() if self.attention else None
        return replace(self, residual=self.residual.packed(), attention=attention)


def merged(mine: Record, other: Record) -> Record:
    """Two records in one, field by field."""

    def both(name: str) -> Any:
        return joined(name, getattr(mine, name), getattr(other, name), lambda left, right: left.merge(right))

    return type(mine)(**{field.name: both(field.name) for field in fields(mine)})


def joined(name: str, mine: Part | None, more: More | None, join: Callable[[Part, More], Part]) -> Part | None:
    """A part of a record and more of it. One that was not asked for is missing on both sides, and stays missing."""
    if mine is None and more is None:
        return None
    if mine is None or more is None:
        raise AssertionError(
            f"expected {name} on both sides or on neither, got {name} on one: all batches of a pass are summed alike"
        )
    return join(mine, more)

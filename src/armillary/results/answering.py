"""A claim of a document and what a run says to it: a verdict, and the numbers that decide."""

from typing import NamedTuple, Protocol

from armillary.measures.errors.shares import Verdict


class Decided(Protocol):
    """Numbers that come with a verdict."""

    @property
    def verdict(self) -> Verdict:
        """What they say to the claim."""
        ...


class Answer(NamedTuple):
    """A claim, the numbers with their verdict, and the same in words."""

    claim: str
    numbers: Decided
    because: str

    def __str__(self) -> str:
        return f"{self.claim}: {self.numbers.verdict} ({self.because})"

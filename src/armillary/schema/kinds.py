"""What a row of the schema is: one variable, one group of variables."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FORMAT = 1
"""Raised when a change makes older files unreadable."""


@dataclass(frozen=True)
class Variable:
    """One variable: its axes, its unit, what it is, and whether a run may lack it."""

    axes: tuple[str, ...]
    unit: str
    text: str
    optional: bool = False


@dataclass(frozen=True)
class Group:
    """One group of a run: which file holds it, what it is about, its variables, the measures that give them.

    A measure finds its parameters in the groups of `inputs`, the first that has them, and in what the measures before
    it in the same group gave.
    """

    file: str
    text: str
    variables: dict[str, Variable]
    measures: tuple[Callable[..., Any], ...] = ()
    inputs: tuple[str, ...] = ("residual", "corpus", "sample", "outliers")


def axes(text: str) -> tuple[str, ...]:
    """Axis names from words."""
    return tuple(text.split())

"""What a row of the schema is: one variable, one group of variables."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

FORMAT = 1
"""Raised when a change makes older files unreadable."""

Over = Literal["documents", "repeats", "blocks", "simulated", "stretches", "seeds", "none"]
"""What a standard error is over: documents in groups, windows of repeated tokens, blocks, simulated draws, stretches of
what was kept for validation, random seeds of training; or none."""


@dataclass(frozen=True)
class Variable:
    """One variable: axes, unit and meaning; whether a run may lack it; its short name, and what its error is over.

    `label` is what tables, figures, comparison, report and explorer call it. A `share` is shown in per cent. `draws`
    names the variable that counts the windows of each group behind its error, where these are not all windows; `folds`
    says that the error rests on the folds of groups, not on the groups.
    """

    axes: tuple[str, ...]
    unit: str
    text: str
    optional: bool = False
    label: str = ""
    share: bool = False
    error: Over = "none"
    draws: str = ""
    folds: bool = False


@dataclass(frozen=True)
class Group:
    """One group of a run: which file holds it, what it is about, its variables, the measures that give them.

    A measure finds its parameters in the groups of `inputs`, the first that has them, and in what the measures before
    it in the same group gave. `command` is what adds the group to a run. `simulates` names what a group is a simulation
    of: it needs no model, and its command makes a run of its own. So does the command of a group that stands `apart`.
    What `splits` position from context needs several windows: with a single one all of it is NaN.
    """

    file: str
    text: str
    variables: dict[str, Variable]
    measures: tuple[Callable[..., Any], ...] = ()
    inputs: tuple[str, ...] = ("residual", "corpus", "sample", "outliers")
    command: str = "armillary survey"
    simulates: str = ""
    splits: bool = False
    apart: bool = False


def adding(command: str, what: str = "it") -> str:
    """What a command does for a run that lacks something: add it, or make another run that has it."""
    return f"`{command}` {'adds' if 'RUN' in command.split() else 'makes a run with'} {what}"


def axes(text: str) -> tuple[str, ...]:
    """Axis names from words."""
    return tuple(text.split())


def with_error(name: str, row: Variable, over: Over = "documents", *, without: bool = False) -> dict[str, Variable]:
    """A variable, the standard error beside it, and, if kept, its values without each group of documents."""
    words = {
        "documents": "its standard error over documents",
        "repeats": "its standard error over windows of random tokens",
        "blocks": "its standard error over blocks of the model",
        "simulated": "its standard error over simulated draws",
        "stretches": "its standard error over stretches of what was kept for validation",
        "seeds": "its standard error over random seeds",
    }
    beside = {
        name: replace(row, error=over),
        f"{name}_se": replace(
            Variable(row.axes, row.unit, words[over], label=f"{row.label}, SE", share=row.share), optional=row.optional
        ),
    }
    if not without:
        return beside
    left_out = "fold" if row.folds else "group"
    text = f"its value when one {left_out} of documents is left out"
    return {
        **beside,
        f"{name}_without": Variable((*row.axes, left_out), row.unit, text, optional=True, share=row.share),
    }


def with_range(
    name: str, row: Variable, left_out: str = "group of documents", *, optional: bool = False
) -> dict[str, Variable]:
    """What no interval covers, and its range as one group or fold after the other is left out.

    The range is `optional` where files of earlier versions hold an error that did not cover in its place.
    """
    text = "its {}est value when one {} is left out"
    return {name: row} | {
        f"{name}_{end}": Variable(row.axes, row.unit, text.format(end, left_out), optional, share=row.share)
        for end in ("low", "high")
    }

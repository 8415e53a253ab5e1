"""A table that nothing is cut from: where a terminal is too narrow for its columns, they go on in another panel."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from armillary.printing.numbers import number

GAP = 2
"""Blanks between two columns."""

SE = "SE"
"""What a column of standard errors is called: ± is a 95 % interval wherever it stands."""


class Column(NamedTuple):
    """A heading and the texts below it; words stand to the left, numbers to the right, what is quiet is dim.

    What is quiet, a null or a control, stays with the column before it, and so does what is joined to it. With
    `limit`, longer texts go on in the next line.
    """

    heading: str
    cells: list[str]
    words: bool = False
    quiet: bool = False
    joined: bool = False
    limit: int = 0

    @property
    def width(self) -> int:
        """As wide as the widest cell, and as the longest word of the heading; % stays with its word."""
        widest = max(map(len, [*self.heading.replace(" %", "_%").split(), *self.cells]))
        return min(widest, self.limit) if self.limit else widest


def estimates(heading: str, values: Iterable[float], errors: Iterable[float], digits: int) -> list[Column]:
    """Numbers, and their standard errors in a column of their own; that is left out where none has one."""
    values, errors = list(values), list(errors)
    pairs = zip(values, errors, strict=True)
    beside = [number(float("nan") if np.isnan(value) else error, digits) for value, error in pairs]
    columns = [Column(heading, [number(value, digits) for value in values])]
    return columns if np.isnan(errors).all() else [*columns, Column(SE, beside, quiet=True)]


@dataclass(frozen=True)
class Panels:
    """Title, columns and caption; the first column stands in every panel."""

    title: str
    columns: Sequence[Column]
    caption: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield Text(self.title)
        for columns in pieces(self.columns, options.max_width):
            yield panel(columns)
        if self.caption:
            yield Text(self.caption)


def pieces(columns: Sequence[Column], width: int) -> list[list[Column]]:
    """The columns in pieces that fit a width, gaps counted; a piece holds at least one column beside the first."""
    first, *others = columns
    bundles: list[list[Column]] = []
    for column in others:
        if (column.quiet or column.joined) and bundles:
            bundles[-1].append(column)
        else:
            bundles.append([column])
    cut: list[list[Column]] = [[first]]
    for bundle in bundles:
        if len(cut[-1]) > 1 and wide([*cut[-1], *bundle]) > width:
            cut.append([first])
        for column in bundle:
            if len(cut[-1]) > 1 and wide([*cut[-1], column]) > width:
                cut.append([first])
            cut[-1].append(column)
    return cut


def wide(columns: Sequence[Column]) -> int:
    """The width of some columns side by side."""
    return sum(column.width + GAP for column in columns) - GAP


def panel(columns: Sequence[Column]) -> Table:
    """Some columns as a table."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for column in columns:
        table.add_column(
            column.heading,
            justify="left" if column.words else "right",
            style="dim" if column.quiet else "",
            width=column.width,
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, cells))
    return table

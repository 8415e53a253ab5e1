"""How a command prints: a table on the console, or rows as JSON or CSV."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from armillary.errors import RequestError
from armillary.surveys.settings import setting
from armillary.system.progress import say, waiting

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 140
"""Columns of an output that is no terminal."""


@dataclass(frozen=True)
class Form:
    """As a table, unless JSON or CSV is asked for; these give every number."""

    json: bool = setting(False, "Print JSON.")
    csv: bool = setting(False, "Print CSV.")

    @classmethod
    def of(cls, *, json: bool, csv: bool) -> "Form":
        """The form that is asked for; two at once are refused."""
        if json and csv:
            raise RequestError("expected --json or --csv, got both: give one of the two")
        return cls(json, csv)

    def show(self, table: Callable[[], Any], json: Callable[[], str], csv: Callable[[], str]) -> None:
        """Print what was asked for; the others are not made."""
        if self.json or self.csv:
            typer.echo((json if self.json else csv)().rstrip("\n"))
        else:
            console().print(table())

    def show_rows(self, table: Callable[[], Any], frame: "pd.DataFrame") -> None:
        """Print a table, or its rows of data."""
        self.show(table, lambda: str(frame.reset_index().to_json(orient="records", indent=1)), lambda: frame.to_csv())


def console() -> Console:
    """Standard output; wide enough for the tables where it is no terminal and COLUMNS sets no width."""
    out = Console(markup=False, highlight=False)
    unknown = not out.is_terminal and not os.environ.get("COLUMNS")
    return Console(markup=False, highlight=False, width=WIDTH) if unknown else out


@contextmanager
def loading(model: str, *, quiet: bool) -> Iterator[None]:
    """Say that a model is loaded: a line that moves on a terminal, one line on any other standard error."""
    if not quiet and not Console(stderr=True).is_terminal:
        say(f"{model}: loading")
    with waiting(f"{model}: loading", show=not quiet):
        yield

"""The answers to the built-in task, and where the tokens of its examples attend: rows of data, and as printed."""

import json

import pandas as pd
import xarray as xr
from rich.console import Group
from rich.table import Table
from rich.text import Text

from armillary.printing.numbers import number
from armillary.printing.panels import Column, Panels, estimates

PLACES = {
    "diagonal": "themselves",
    "within": "own example",
    "across": "other examples",
    "outside": "elsewhere",
}
"""Where a token of an example attends, as it is stored and as it is printed."""


def printed(answers: xr.Dataset) -> Group:
    """Answers and masses for a terminal."""
    return Group(clues(answers), Text(""), masses(answers))


def clues(answers: xr.Dataset) -> Table:
    """The answer to every word, a column per number of examples."""
    table = Table(box=None, pad_edge=False, title=Text(f"{answers.attrs['model']}: clues"), title_justify="left")
    table.add_column("word")
    for shots in answers.shots.values:
        table.add_column(f"{shots} shots", overflow="fold")
    for word in answers.word.values:
        table.add_row(Text(str(word)), *(Text(str(text)) for text in answers.continuation.sel(word=word).values))
    return table


def masses(answers: xr.Dataset) -> Panels:
    """Where the tokens of examples attend, a row per number of examples and block."""
    frame = rows(answers)
    columns = [
        Column("shots, block", [f"{shots}, {block}" for shots, block in zip(frame.shots, frame.block, strict=True)])
    ]
    for name, words in PLACES.items():
        value, error, null = (100 * frame[f"mass_{name}{ending}"] for ending in ("", "_se", "_null"))
        columns += estimates(words, value, error, 1)
        columns.append(Column("control", [number(share, 1) for share in null], quiet=True))
    return Panels("Attention of the examples' tokens, %", columns, "control: the random-weight control.")


def as_json(answers: xr.Dataset) -> str:
    """Answers and masses as one JSON object."""
    lines = {
        str(shots): dict(zip(answers.word.values.tolist(), row.values.tolist(), strict=True))
        for shots, row in zip(answers.shots.values, answers.continuation, strict=True)
    }
    masses_of = json.loads(rows(answers).to_json(orient="records"))
    return json.dumps({"model": answers.attrs["model"], "clues": lines, "rows": masses_of}, indent=1)


def rows(answers: xr.Dataset) -> pd.DataFrame:
    """The masses, a row per number of examples and block."""
    return answers.drop_vars("continuation").drop_vars("word").to_dataframe().reset_index()

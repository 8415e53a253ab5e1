"""Tables in the layout of Song & Zhong's tables 1 to 6: rows are models and texts, columns are layers or results."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import xarray as xr
from rich.console import Group
from rich.table import Table
from rich.text import Text

from armillary.errors import RequestError, did_you_mean
from armillary.printing.layers import GROUPS
from armillary.printing.numbers import number
from armillary.results.reading import array, has, label_of, row_of
from armillary.results.store import Run

SPREAD = "standard deviation over layers (divided by their number), not a standard error"


@dataclass(frozen=True)
class Line:
    """One result of a table: where it is found, how it is printed."""

    path: str
    digits: int = 2
    at: dict[str, int] = field(default_factory=dict)

    @property
    def result(self) -> str:
        """The result's name in its group."""
        return self.path.partition("/")[2]

    @property
    def heading(self) -> str:
        """What the result is called: the schema's label, whether it is a null, and the point on a further axis."""
        base, null, _ = self.path.partition("_null")
        label = row_of(f"{base}_corrected" if null else base).label or label_of(base)
        ending = ", null" if null else ", bias-corrected" if base.endswith("_corrected") else ""
        return label + ending + "".join(f", K = {value}" for value in self.at.values())


SCREENOT = Line("position/rank_screenot", 0)
RELATIVE_NORM = Line("position/relative_norm", 3)
CONTEXT = (
    Line("context/similarity_between"),
    Line("context/similarity_within"),
    Line("context/incoherence_mean", 3),
    Line("context/incoherence_max", 3),
)
TABLES: dict[str, tuple[Line, ...]] = {
    "summary": (SCREENOT, RELATIVE_NORM, *CONTEXT),
    "ranks": (
        SCREENOT,
        Line("position/rank_screenot_null", 0),
        Line("position/rank_heldout", 0),
        Line("position/rank_stable"),
        Line("position/rank_stable_corrected"),
        Line("position/rank_stable_null"),
    ),
    "position": (
        RELATIVE_NORM,
        Line("position/relative_norm_corrected", 3),
        Line("position/relative_norm_null", 3),
        Line("position/share_corrected", 3),
        Line("position/share_null", 3),
    ),
    "low-frequency": tuple(
        Line(f"position/{result}", 3, {"frequency": highest})
        for result in ("low_frequency_share", "low_frequency_share_null")
        for highest in (1, 3, 5, 10)
    ),
    "similarity": (
        *CONTEXT,
        Line("context/similarity_null"),
        Line("context/incoherence_mean_null_rotation", 3),
        Line("context/incoherence_max_null_rotation", 3),
    ),
}
"""summary is the paper's table 1, ranks its tables 4 and 5, position its table 6, low-frequency 2 and 3 for P Pᵀ."""


def offered(run: Run) -> list[str]:
    """The tables that a run has at least one result for."""
    return [name for name, lines in TABLES.items() if any(values(run, line) is not None for line in lines)]


def values(run: Run, line: Line) -> xr.DataArray | None:
    """One result layer by layer, or nothing where the run lacks it."""
    if not has(run.results, line.path):
        return None
    found = array(run.results, line.path)
    return None if any(value >= found.sizes[axis] for axis, value in line.at.items()) else found.isel(line.at)


def depth(run: Run) -> int:
    """How many layers the results of a run have."""
    found = [values(run, line) for lines in TABLES.values() for line in lines]
    return max((each.sizes["layer"] for each in found if each is not None), default=0)


def lines_of(runs: Sequence[Run], name: str) -> list[Line]:
    """The lines of a table that the runs can fill; an error that says which tables there are where one cannot."""
    for run in runs:
        known = [*(["decomposition"] if set(GROUPS) <= set(run.results.children) else []), *offered(run)]
        what = f"the run in {run.folder}" if run.folder else "the run"
        if name not in TABLES:
            raise RequestError(f"expected a table of {what}, got {name!r}: {did_you_mean(name, known)}")
        if name not in known:
            lacking = ", ".join(f"/{line.path}" for line in TABLES[name])
            raise RequestError(
                f"expected a run with results for the table {name}, got {what}, which lacks {lacking}: "
                f"choose {', '.join(known) or 'another run, this one has no table'}"
            )
    return [line for line in TABLES[name] if any(values(run, line) is not None for run in runs)]


def paper_table(runs: Sequence[Run], name: str) -> pd.DataFrame:
    """A table as data: one row per result and run, a column per layer, then mean and spread over layers.

    `spread_over_layers` is the standard deviation over layers (divisor: their number), not a standard error; layers
    whose value is not estimable are left out of both. The table "summary" has one row per run and, for each result,
    its mean and its spread.
    """
    frame = rows_of(runs, lines_of(runs, name))
    return summary(frame) if name == "summary" else frame.set_index(["result", "model", "corpus", "contexts"])


def rows_of(runs: Sequence[Run], lines: Sequence[Line]) -> pd.DataFrame:
    """A row per result and run, mean and spread last."""
    frame = pd.DataFrame([row(run, line) for line in lines for run in runs])
    last = ["mean", "spread_over_layers"]
    return frame[[column for column in frame if column not in last] + last]


def row(run: Run, line: Line) -> dict[str, object]:
    """One result of one run."""
    found = values(run, line)
    numbers = np.full(depth(run), np.nan) if found is None else np.asarray(found.values)
    known = numbers[~np.isnan(numbers)]
    mean, spread = (known.mean(), known.std()) if len(known) else (np.nan, np.nan)
    about = {name: run.provenance.get(name) for name in ("model", "corpus", "contexts")}
    if run.provenance.get("random_weights"):
        about["model"] = f"{about['model']} (random weights)"
    result = line.result + "".join(f"_{value}" for value in line.at.values())
    layers = {f"layer_{layer}": float(value) for layer, value in enumerate(numbers)}
    return {"result": result, **about, **layers, "mean": float(mean), "spread_over_layers": float(spread)}


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Table 1: a row per run, mean and spread of each result as columns."""
    runs = len(frame) // frame.result.nunique()
    about = frame[["model", "corpus", "contexts"]].iloc[:runs].reset_index(drop=True)
    for result, part in frame.groupby("result", sort=False):
        for name in ("mean", "spread_over_layers"):
            about[f"{result}_{name}"] = part[name].to_numpy()
    return about.set_index(["model", "corpus", "contexts"])


def printed(runs: Sequence[Run], name: str, width: int) -> Group:
    """A table for a terminal of that width; many layers are broken into panels."""
    lines = lines_of(runs, name)
    if name == "summary":
        across = summary_panel(paper_table(runs, name), lines)
        tables = [across if room(across) <= width else summary_down(runs, lines)]
    else:
        tables = layer_panels(paper_table(runs, name), lines, runs, width)
    meanings = {line.heading: meaning for line in lines for run in runs if (meaning := meaning_of(run, line))}
    below = [f"spread: {SPREAD}. –: not estimable, or not measured in this run."]
    return Group(*tables, Text("\n".join(below + [f"{heading}: {meaning}." for heading, meaning in meanings.items()])))


def meaning_of(run: Run, line: Line) -> str:
    """What the schema says about a result."""
    found = values(run, line)
    return "" if found is None else str(found.attrs.get("long_name", ""))


def summary_panel(frame: pd.DataFrame, lines: Sequence[Line]) -> Table:
    """Table 1: mean (spread) of each result over layers."""
    table = Table(title=Text("mean over layers (spread over layers)"), title_justify="left")
    for column in ("model", "corpus", "windows"):
        table.add_column(column)
    for line in lines:
        table.add_column(line.heading, justify="right")
    for about, values_of in frame.iterrows():
        cells = [
            f"{number(values_of[f'{line.result}_mean'], max(line.digits, 2))} "
            f"({number(values_of[f'{line.result}_spread_over_layers'], max(line.digits, 2))})"
            for line in lines
        ]
        table.add_row(*(Text(str(part)) for part in about), *cells)
    return table


def room(table: Table) -> int:
    """The columns of a terminal that a table needs, so that no word and no number of it is cut."""
    words = [
        [word for cell in (column.header, *column.cells) for word in str(cell).split()] for column in table.columns
    ]
    whole = [[str(cell) for cell in column.cells] for column in table.columns]
    return 1 + sum(3 + max(map(len, [*some, *cells])) for some, cells in zip(words, whole, strict=True))


def summary_down(runs: Sequence[Run], lines: Sequence[Line]) -> Table:
    """Table 1 for a narrow terminal: a row per result and run."""
    frame = rows_of(runs, lines).set_index(["result", "model", "corpus", "contexts"])
    texts = cells(frame, lines, runs)
    labels = [
        (line.heading, *map(str, about[1:]))
        for line, about in zip([line for line in lines for _ in runs], frame.index, strict=True)
    ]
    return panel(labels, {name: texts[name] for name in ("mean", "spread")})


def layer_panels(frame: pd.DataFrame, lines: Sequence[Line], runs: Sequence[Run], width: int) -> list[Table]:
    """Tables 4 to 6: results and runs down, layers across, as many to a panel as the width holds."""
    texts = cells(frame, lines, runs)
    headings = [line.heading for line in lines for _ in runs]
    labels = [(heading, *map(str, about[1:])) for heading, about in zip(headings, frame.index, strict=True)]
    named = sum(max(len(part) for part in parts) + 3 for parts in zip(*labels, strict=True)) + 1
    each = max(len(text) for column in texts.values() for text in column) + 3
    count = max(3, (width - named) // max(each, len("spread") + 3))
    return [panel(labels, {name: texts[name] for name in names}) for names in pieces(list(texts), count)]


def pieces(names: list[str], count: int) -> list[list[str]]:
    """The columns in pieces of at most `count`; mean and spread, the last two, stay together."""
    layers, last = names[:-2], names[-2:]
    cut = [layers[at : at + count] for at in range(0, len(layers), count)]
    return [*cut[:-1], cut[-1] + last] if len(cut[-1]) + 2 <= count else [*cut, last]


def cells(frame: pd.DataFrame, lines: Sequence[Line], runs: Sequence[Run]) -> dict[str, list[str]]:
    """The text of every cell, column by column; nothing where a model has no such layer."""
    rows = [(line.digits, depth(run)) for line in lines for run in runs]
    layers = [name for name in frame if name.startswith("layer_")]
    texts = {
        name.removeprefix("layer_"): [
            number(value, digits) if at < count else ""
            for value, (digits, count) in zip(frame[name], rows, strict=True)
        ]
        for at, name in enumerate(layers)
    }
    for name, column in (("mean", "mean"), ("spread", "spread_over_layers")):
        texts[name] = [number(value, max(digits, 2)) for value, (digits, _) in zip(frame[column], rows, strict=True)]
    return texts


def panel(labels: Sequence[tuple[str, ...]], columns: dict[str, list[str]]) -> Table:
    """Some layers of a table."""
    table = Table()
    for heading in ("result", "model", "corpus", "windows"):
        table.add_column(heading, overflow="fold")
    for heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for at, label in enumerate(labels):
        table.add_row(*map(Text, label), *(column[at] for column in columns.values()))
    return table

"""Tables in the layout of Song & Zhong's tables 1 to 6: rows are models and texts, columns are layers or results."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import xarray as xr
from rich.console import Group
from rich.table import Table
from rich.text import Text

from armillary.errors import RequestError
from armillary.printing.numbers import number
from armillary.results.store import Run

SPREAD = "standard deviation over layers, the divisor being their number: not a standard error"


@dataclass(frozen=True)
class Line:
    """One result of a table: how it is called, where it is found, how it is printed."""

    heading: str
    group: str
    result: str
    digits: int = 2
    at: dict[str, int] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Where the result is found in a run."""
        place = "".join(f" {axis}={value}" for axis, value in self.at.items())
        return f"/{self.group}/{self.result}{place}"


SCREENOT = Line("ScreeNOT rank", "position", "rank_screenot", 0)
RELATIVE_NORM = Line("relative norm", "position", "relative_norm", 3)
CONTEXT = (
    Line("similarity between documents", "context", "similarity_between"),
    Line("similarity within documents", "context", "similarity_within"),
    Line("incoherence, mean", "context", "incoherence_mean", 3),
    Line("incoherence, max", "context", "incoherence_max", 3),
)
TABLES: dict[str, tuple[Line, ...]] = {
    "summary": (SCREENOT, RELATIVE_NORM, *CONTEXT),
    "ranks": (
        SCREENOT,
        Line("ScreeNOT rank, null", "position", "rank_screenot_null", 0),
        Line("held-out rank", "position", "rank_heldout", 0),
        Line("stable rank", "position", "rank_stable"),
        Line("stable rank, corrected", "position", "rank_stable_corrected"),
        Line("stable rank, null", "position", "rank_stable_null"),
    ),
    "position": (
        RELATIVE_NORM,
        Line("relative norm, corrected", "position", "relative_norm_corrected", 3),
        Line("relative norm, null", "position", "relative_norm_null", 3),
        Line("position share, corrected", "position", "share_corrected", 3),
        Line("position share, null", "position", "share_null", 3),
    ),
    "low-frequency": tuple(
        Line(f"low-frequency share, K = {highest}{what}", "position", result, 3, {"frequency": highest})
        for what, result in (("", "low_frequency_share"), (", null", "low_frequency_share_null"))
        for highest in (1, 3, 5, 10)
    ),
    "similarity": (
        *CONTEXT,
        Line("similarity, null", "context", "similarity_null"),
        Line("incoherence, mean, null", "context", "incoherence_mean_null_rotation", 3),
        Line("incoherence, max, null", "context", "incoherence_max_null_rotation", 3),
    ),
}
"""summary is the paper's table 1, ranks its tables 4 and 5, position its table 6, low-frequency 2 and 3 for P Pᵀ."""


def offered(run: Run) -> list[str]:
    """The tables that a run has at least one result for."""
    return [name for name, lines in TABLES.items() if any(values(run, line) is not None for line in lines)]


def values(run: Run, line: Line) -> xr.DataArray | None:
    """One result layer by layer, or nothing where the run lacks it."""
    group = run.results[line.group].to_dataset() if line.group in run.results.children else xr.Dataset()
    if line.result not in group:
        return None
    array = group[line.result]
    if any(value >= array.sizes[axis] for axis, value in line.at.items()):
        return None
    return array.isel(line.at)


def lines_of(runs: Sequence[Run], name: str) -> list[Line]:
    """The lines of a table that the runs can fill; an error that says which tables there are where one cannot."""
    for run in runs:
        known = offered(run)
        if name not in known:
            what = f"the run in {run.folder}" if run.folder else "the run"
            missing = f" (it lacks {', '.join(line.path for line in TABLES[name])})" if name in TABLES else ""
            raise RequestError(
                f"{what} has no table {name!r}{missing}: there are {', '.join(['decomposition', *known])}"
            )
    return [line for line in TABLES[name] if any(values(run, line) is not None for run in runs)]


def paper_table(runs: Sequence[Run], name: str) -> pd.DataFrame:
    """A table as data: one row per result and run, a column per layer, then mean and spread over layers.

    `spread_over_layers` is the standard deviation over layers (divisor: their number), not a standard error; layers
    whose value is not determined are left out of both. The table "summary" has one row per run and, for each result,
    its mean and its spread.
    """
    lines = lines_of(runs, name)
    rows = [row(run, line) for line in lines for run in runs]
    frame = pd.DataFrame(rows)
    last = ["mean", "spread_over_layers"]
    frame = frame[[column for column in frame if column not in last] + last]
    return summary(frame) if name == "summary" else frame.set_index(["result", "model", "corpus", "contexts"])


def row(run: Run, line: Line) -> dict[str, object]:
    """One result of one run."""
    found = values(run, line)
    numbers = np.full(run.results["residual"].sizes["layer"], np.nan) if found is None else np.asarray(found.values)
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
    frame = paper_table(runs, name)
    tables = [summary_panel(frame, lines)] if name == "summary" else layer_panels(frame, lines, runs, width)
    meanings = {line.result: meaning for line in lines for run in runs if (meaning := meaning_of(run, line))}
    below = [f"spread: {SPREAD}; – not determined, or not measured in this run."]
    return Group(*tables, Text("\n".join(below + [f"{result}: {meaning}." for result, meaning in meanings.items()])))


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
    """The columns in pieces of at most so many; mean and spread, the last two, stay together."""
    layers, last = names[:-2], names[-2:]
    cut = [layers[at : at + count] for at in range(0, len(layers), count)]
    return [*cut[:-1], cut[-1] + last] if len(cut[-1]) + 2 <= count else [*cut, last]


def cells(frame: pd.DataFrame, lines: Sequence[Line], runs: Sequence[Run]) -> dict[str, list[str]]:
    """The text of every cell, column by column; nothing where a model has no such layer."""
    rows = [(line.digits, run.results["residual"].sizes["layer"]) for line in lines for run in runs]
    layers = [name for name in frame if name.startswith("layer_")]
    texts = {
        name.removeprefix("layer_"): [
            number(value, digits) if at < depth else ""
            for value, (digits, depth) in zip(frame[name], rows, strict=True)
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

"""Every result of two runs for a terminal, layer by layer, with heads that change kind, ranges and angles."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import xarray as xr
from rich.console import Group
from rich.text import Text

from armillary.printing import changes
from armillary.printing.differences import difference_rows, meeting
from armillary.printing.numbers import factor, heading, number
from armillary.printing.panels import SE, Column, Panels
from armillary.results.kinds import head_name, kind_step, surely_changed
from armillary.results.reading import has, numbers
from armillary.results.schema.naming import KINDS
from armillary.results.two_runs import RUNS

HEADLINES = {
    "position/share_corrected": 2,
    "position/rank_stable_corrected": 2,
    "position/relative_norm_corrected": 3,
}
"""What is printed layer by layer, with how many digits."""

OUTLIERS = (
    ("variance/share", "floor", 2),
    ("position/rank_stable", "null", 2),
    ("position/relative_norm", "null", 3),
)
"""What outlier tokens may change: result, what stands beside it, digits."""

PLACES = {"": "", "frequency=10": ", frequencies 0 to 10"}
"""Which points of a further axis are printed with their ranges, and under which name: the K of the paper's table 2."""


def printed(comparison: xr.DataTree) -> Group:
    """The comparison for a terminal: what is compared, every result, layers, heads, ranges, angles, outliers, notes.

    A table whose results the runs do not both hold is left out.
    """
    found = changes.changes(comparison)
    tables = [
        changes.panel("Every result with an error, where it differs most clearly", found) if found else None,
        layer_table(comparison),
        kind_table(comparison["kinds"].to_dataset()),
        *range_tables(comparison),
        angle_table(comparison),
        outlier_table(comparison),
    ]
    shown = [table for table in tables if table is not None]
    notes = Text(f"\n{comparison.attrs['notes']}")
    return Group(changes.named(comparison), Text(changes.verdict(found)), *shown, notes)


def table_of(title: str, layers: list[str], columns: list[Column]) -> Panels:
    """One row per layer."""
    return Panels(f"\n{title}", [Column("layer", layers), *columns], "")


def meetings(dataset: xr.Dataset) -> list[str]:
    """Which layers meet in each row."""
    pairs = zip(dataset.layer_one.values.tolist(), dataset.layer_other.values.tolist(), strict=True)
    return [meeting(*pair) for pair in pairs]


def layer_table(comparison: xr.DataTree) -> Panels | None:
    """Position share, stable rank and relative norm of both runs, layer by layer; * where they differ."""
    shown = {path: digits for path, digits in HEADLINES.items() if has(comparison, f"{path}_difference")}
    if not shown:
        return None
    columns = [column for path, digits in shown.items() for column in pair(comparison, path, digits)]
    title = "Layer by layer, bias-corrected. SE: of the difference; *: differs significantly"
    return table_of(title, meetings(comparison["position"].to_dataset()), columns)


def pair(comparison: xr.DataTree, path: str, digits: int) -> Iterator[Column]:
    """One result of both runs and its difference."""
    ends = (*RUNS, "difference", "difference_se")
    one, other, gap, error = (factor(path) * numbers(comparison, f"{path}_{end}") for end in ends)
    stars = np.where(numbers(comparison, f"{path}_differs"), "*", " ")
    yield Column(f"{heading(path)}\none", [number(value, digits) for value in one])
    yield Column("\nother", [number(value, digits) for value in other], joined=True)
    differences = [number(by, digits) + star for by, star in zip(gap, stars, strict=True)]
    yield Column("\nother − one", differences, joined=True)
    yield Column(f"\n{SE}", [number(value, digits) for value in error], quiet=True)


def kind_table(kinds: xr.Dataset) -> Panels | None:
    """The heads that change kind, at the score that decides it; * where that differs significantly."""
    if not kinds.data_vars or not kinds.changed.any():
        return None
    heads = list(kinds.isel(named=kinds.changed.values).to_dataframe().itertuples())
    stars = ["*" if head.differs else " " for head in heads]
    steps = [(100 * head.score_one, 100 * head.score_other) for head in heads]
    ends = [(100 * head.difference_low, 100 * head.difference_high) for head in heads]
    columns = [
        Column("head", [head_name(head) for head in heads], words=True),
        Column("one → other", [kind_step(head) for head in heads], words=True),
        Column("by the score", [KINDS[head.score] for head in heads], words=True),
        Column("one %", [number(one, 1) for one, _ in steps]),
        Column("other %", [number(other, 1) for _, other in steps]),
        Column(
            "other − one,\n95 % interval",
            [
                f"{low:.1f} to {high:.1f}{star}" if np.isfinite(low) else "–"
                for (low, high), star in zip(ends, stars, strict=True)
            ],
        ),
    ]
    return Panels(f"\n{surely_changed(kinds)}. *: the score differs significantly", columns, "")


def range_tables(comparison: xr.DataTree) -> list[Panels]:
    """Ranks, maxima and the like of both runs with their ranges over the groups left out.

    Results whose layers meet in the same pairs stand in one table.
    """
    rows = difference_rows(comparison)
    if "one_low" not in rows:
        return []
    shown = rows[rows.one_low.notna() & rows["axis"].eq("layer") & rows.place.isin(PLACES)]
    tables: dict[tuple[str, ...], list[Column]] = {}
    for _, part in shown.groupby(["group", "result"], sort=False):
        layers = tuple(meeting(*met) for met in zip(part.at_one, part.at_other, strict=True))
        tables.setdefault(layers, []).extend(ranges(part))
    title = "Value [range as parts of the documents are left out]; no interval, and no test is made"
    return [table_of(title, list(layers), columns) for layers, columns in tables.items()]


def ranges(rows: pd.DataFrame) -> Iterator[Column]:
    """One result of both runs: value [lowest, highest]."""
    path = f"{rows.group.iloc[0]}/{rows.result.iloc[0]}"
    name = heading(path) + PLACES[rows.place.iloc[0]]
    for run, title in zip(RUNS, (f"{name}\none", "\nother"), strict=True):
        values = (factor(path) * rows[[run, f"{run}_low", f"{run}_high"]]).itertuples(index=False)
        cells = [f"{value:.4g} [{low:.4g}, {high:.4g}]" for value, low, high in values]
        yield Column(title, cells, joined=run != RUNS[0])


def angle_table(comparison: xr.DataTree) -> Panels | None:
    """The smallest and the largest of the k angles in degrees, with their null, and the largest between halves."""
    angles = comparison["angles"].to_dataset()
    if not angles.data_vars:
        return None
    most = angles.k.values - 1

    def column(title: str, name: str, mode: np.ndarray, *, quiet: bool = False) -> Column:
        degrees = np.degrees(angles[name].values[np.arange(len(mode)), mode])
        return Column(title, [number(value, 1) for value in degrees], quiet=quiet)

    first = np.zeros_like(most)
    columns = [
        Column("k", [str(k) for k in angles.k.values]),
        column("smallest", "angle", first),
        column("null", "angle_null", first, quiet=True),
        column("largest", "angle", most),
        column("null", "angle_null", most, quiet=True),
        column("halves one", "angle_halves_one", most, quiet=True),
        column("halves other", "angle_halves_other", most, quiet=True),
    ]
    return table_of(f"Angles in degrees between the k leading {angles.attrs['between']}", meetings(angles), columns)


def outlier_table(comparison: xr.DataTree) -> Panels | None:
    """What outlier tokens change, as plug-in estimates beside noise floor or null; only where nothing else differs."""
    kept = comparison.attrs.get("outliers_kept_in")
    paths = [path for path, *_ in OUTLIERS]
    if kept is None or not all(has(comparison, f"{path}_one") for path in paths):
        return None
    order = {"kept": kept, "dropped": RUNS[1 - RUNS.index(kept)]}
    values = {path: comparison[path.partition("/")[0]].to_dataset() for path in paths}
    values[paths[0]] = values[paths[0]].sel(component="position")
    columns = []
    for path, beside, digits in OUTLIERS:
        result = path.partition("/")[2]
        for word, run in order.items():
            title = f"{plug_in(path)}\n{word}" if word == "kept" else word
            for name, variable in ((title, f"{result}_{run}"), (beside, f"{result}_{beside}_{run}")):
                cells = [number(float(value), digits) for value in factor(path) * values[path][variable].values]
                columns.append(Column(name, cells, quiet=name == beside, joined=word == "dropped"))
    layers = meetings(values[paths[1]])
    return table_of("What outlier tokens change (plug-in estimates)", layers, columns)


def plug_in(path: str) -> str:
    """The heading of a plug-in estimate in a table of nothing else."""
    return "position share %" if path == "variance/share" else heading(path).removesuffix(", plug-in")

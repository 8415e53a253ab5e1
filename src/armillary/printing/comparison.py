"""A comparison of two runs as rows of data and as it is printed."""

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from rich.console import Group
from rich.table import Column, Table
from rich.text import Text

from armillary.printing.numbers import factor, heading, number, with_error
from armillary.results.comparing import BESIDE, DEPTHS
from armillary.results.reading import has, label_of, numbers
from armillary.results.two_runs import RUNS

DIFFERENCE = ("difference", "difference_se", "difference_low", "difference_high", "difference_p", "differs")

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

PLACES = ("", "frequency=10")
"""Which points of a further axis are printed with their ranges: the K of the paper's table 2."""


def difference_rows(comparison: xr.DataTree) -> pd.DataFrame:
    """One row per result and layer: both values, what stands beside them, the difference and its interval.

    `axis` is layer or block, `at_one` and `at_other` are the layers that meet, `place` is the point on a further axis
    (component=position); what a result does not have is missing.
    """
    first = ["group", "result", "axis", "at_one", "at_other", "place"]
    beside = [f"{run}{ending}" for ending in ("", *BESIDE) for run in RUNS]
    groups = {name: node.to_dataset() for name, node in comparison.children.items() if name != "angles"}
    frames = [rows_of(name, result, group) for name, group in groups.items() for result in results_of(group)]
    rows = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=first)
    return rows[[name for name in (*first, *beside, *DIFFERENCE) if name in rows]]


def angle_rows(comparison: xr.DataTree) -> pd.DataFrame:
    """One row per layer and angle, in radians, smallest first; none where the runs share no space."""
    dataset = comparison["angles"].to_dataset()
    if not dataset.data_vars:
        return pd.DataFrame()
    return dataset.to_dataframe().reset_index().dropna(subset="angle").drop(columns="layer")


def as_json(comparison: xr.DataTree) -> str:
    """The whole comparison: what was compared and how to read it, the differences, the angles in radians."""
    tables = {"results": difference_rows(comparison), "angles": angle_rows(comparison)}
    rows = {name: json.loads(frame.to_json(orient="records")) for name, frame in tables.items()}
    return json.dumps({**{str(name): value for name, value in comparison.attrs.items()}, **rows}, indent=1)


def results_of(dataset: xr.Dataset) -> list[str]:
    """The names of the results that a group of a comparison is about."""
    names = [str(name).removesuffix("_one") for name in dataset.data_vars if str(name).endswith("_one")]
    beside = {name + ending for name in names for ending in BESIDE}
    return [name for name in names if name not in beside]


def rows_of(group: str, result: str, dataset: xr.Dataset) -> pd.DataFrame:
    """The rows of one result."""
    columns = {f"{result}{ending}_{run}": f"{run}{ending}" for ending in ("", *BESIDE) for run in RUNS}
    columns |= {f"{result}_{name}": name for name in DIFFERENCE}
    found = {name: column for name, column in columns.items() if name in dataset}
    axis = next(axis for axis in DEPTHS if axis in dataset[f"{result}_one"].dims)
    further = [str(dim) for dim in dataset[f"{result}_one"].dims if dim != axis]
    rows = dataset[list(found)].rename(found).to_dataframe().reset_index()
    points = [f"{dim}=" + rows[dim].astype(str) for dim in further]
    place = points[0].str.cat(points[1:], sep=", ") if points else ""
    rows = rows.rename(columns={f"{axis}_{run}": f"at_{run}" for run in RUNS})
    return rows.assign(group=group, result=result, axis=axis, place=place)


def printed(comparison: xr.DataTree, width: int) -> Group:
    """The comparison for a terminal of some width: what is compared, a summary, the layers, angles, outliers, notes.

    A table whose results the runs do not both hold is left out; one that is too wide is broken into several.
    """
    about = comparison.attrs
    head = Text(f"one:   {about['one']}\nother: {about['other']}\nThe runs differ in {about['differ_in']}.")
    summary = summary_table(comparison, width)
    by_layer = [(layer_table(comparison), 3), *((table, 2) for table in range_tables(comparison))]
    by_layer += [(angle_table(comparison), 7), (outlier_table(comparison), 4)]
    pieces = [piece for table, together in by_layer if table is not None for piece in broken(table, width, together)]
    return Group(head, *([summary] if summary is not None else []), *pieces, Text(about["notes"]))


def broken(table: Table, width: int, together: int) -> list[Table]:
    """A table as several that are no wider: each has the first column, then columns that belong together."""
    first, *rest = table.columns
    parts = [rest[at : at + together] for at in range(0, len(rest), together)]
    filled: list[list[Column]] = []
    for part in parts:
        if filled and room([first, *filled[-1], *part]) <= width:
            filled[-1] += part
        else:
            filled.append(list(part))
    if len(filled) == 1:
        return [table]
    pieces = []
    for at, part in enumerate(filled):
        piece = Table(title=table.title if at == 0 else None, title_justify="left")
        for column in (first, *part):
            piece.add_column(column.header, justify=column.justify, style=column.style, no_wrap=True)
        for cells in zip(*(column.cells for column in (first, *part)), strict=True):
            piece.add_row(*cells)
        pieces.append(piece)
    return pieces


def room(columns: Sequence[Column]) -> int:
    """How wide a table of these columns is."""
    lines = [[line for cell in (each.header, *each.cells) for line in str(cell).splitlines()] for each in columns]
    return 1 + sum(3 + max((len(line) for line in some), default=0) for some in lines)


def blank(title: str, *columns: str) -> Table:
    """An empty table with numbers to the right."""
    table = Table(title=Text(title), title_justify="left")
    for name in columns:
        quiet = name.strip() in ("null", "floor", "halves one", "halves other")
        table.add_column(name, justify="right", style="dim" if quiet else "", no_wrap=True)
    return table


NARROW = (9, 10, 10, 18)
"""What the columns after the name take of a narrow terminal: words then stand on two lines, numbers stay whole."""


def summary_table(comparison: xr.DataTree, width: int) -> Table | None:
    """One row per result that has an error: in how many layers or heads it differs, and where it does so most clearly.

    What has several values per head, as its map, is left to JSON and CSV.
    """
    rows = difference_rows(comparison)
    if "differs" not in rows:
        return None
    columns = ("result", "differs in", "mean of one", "mean of other", "clearest, other − one")
    table = blank("Where the runs differ (false discovery rate 5 % per result)", *columns)
    table.columns[0].justify, table.columns[0].overflow = "left", "fold"
    for column in table.columns:
        column.no_wrap = False
    for column, most in zip(table.columns[1:], NARROW, strict=True) if width < 120 else ():
        column.max_width = most
    heads = rows.place.str.startswith("head=")
    rows = rows[rows.differs.notna() & ~(heads & rows.place.str.contains(","))]
    places = rows.place.where(~heads, "")
    for (group, result, place), part in rows.groupby(["group", "result", places], sort=False):
        known = part.difference_se.notna().sum()
        unknown = f", {len(part) - known} not estimable" if known < len(part) else ""
        table.add_row(
            f"/{group}/{result} {place}".strip(),
            f"{int(part.differs.sum())} of {len(part)} {counted(part)}{unknown}",
            *(f"{part[run].mean():.4g}" if part[run].notna().any() else "–" for run in RUNS),
            clearest(part),
        )
    return table


def counted(rows: pd.DataFrame) -> str:
    """What the rows of one result are: heads, layers or blocks."""
    return "heads" if rows.place.iloc[0].startswith("head=") else f"{rows['axis'].iloc[0]}s"


def clearest(rows: pd.DataFrame) -> str:
    """The difference that is largest in standard errors, and where; a dash where none has an error."""
    known = rows[rows.difference_se > 0]
    if known.empty:
        return "–"
    most = known.loc[(known.difference.abs() / known.difference_se).idxmax()]
    depth = meeting(int(most.at_one), int(most.at_other))
    where = f"L{depth}H{most.place.removeprefix('head=')}" if most.place.startswith("head=") else depth
    return f"{most.difference:+.3g} ±{most.difference_se:.2g} at {where}"


def meeting(one: int, other: int) -> str:
    """Which layers meet: one number where it is the same."""
    return str(one) if one == other else f"{one}/{other}"


def meetings(dataset: xr.Dataset) -> list[str]:
    """Which layers meet in each row."""
    return [
        meeting(*pair)
        for pair in zip(dataset.layer_one.values.tolist(), dataset.layer_other.values.tolist(), strict=True)
    ]


def layer_table(comparison: xr.DataTree) -> Table | None:
    """Position share, stable rank and relative norm of both runs, layer by layer; * where they differ."""
    shown = {path: digits for path, digits in HEADLINES.items() if has(comparison, f"{path}_difference")}
    if not shown:
        return None
    columns = [column for path in shown for column in (f"{heading(path)}\none", "\nother", "\nother − one")]
    table = blank("Layer by layer, bias-corrected, ± one standard error", "layer", *columns)
    for at, layer in enumerate(meetings(comparison["position"].to_dataset())):
        cells = []
        for path, digits in shown.items():
            ends = ("one", "other", "difference", "difference_se")
            one, other, gap, error = (factor(path) * numbers(comparison, f"{path}_{end}", layer=at) for end in ends)
            star = "*" if numbers(comparison, f"{path}_differs", layer=at) else " "
            cells += [number(float(one), digits), number(float(other), digits)]
            cells.append(with_error(float(gap), float(error), digits) + star)
        table.add_row(layer, *cells)
    return table


def range_tables(comparison: xr.DataTree) -> list[Table]:
    """Ranks, maxima and the like of both runs with their ranges over the groups left out, three results to a table."""
    rows = difference_rows(comparison)
    if "one_low" not in rows:
        return []
    shown = rows[rows.one_low.notna() & rows["axis"].eq("layer") & rows.place.isin(PLACES)]
    results = [part for _, part in shown.groupby(["group", "result"], sort=False)]
    return [range_table(results[at : at + 3]) for at in range(0, len(results), 3)]


def range_table(results: list[pd.DataFrame]) -> Table:
    """A few results, layer by layer: value [lowest, highest]."""
    names = [range_heading(part.iloc[0]) for part in results]
    columns = [column for name in names for column in (f"{name}\none", "\nother")]
    table = blank("Value [leave-one-group-out range]; no test is made", "layer", *columns)
    for rows in zip(*(part.to_dict("records") for part in results), strict=True):
        cells = [f"{row[run]:.4g} [{row[f'{run}_low']:.4g}, {row[f'{run}_high']:.4g}]" for row in rows for run in RUNS]
        table.add_row(meeting(rows[0]["at_one"], rows[0]["at_other"]), *cells)
    return table


def range_heading(row: pd.Series) -> str:
    """What a result is called, with the point on a further axis."""
    return ", ".join(filter(None, [label_of(f"{row.group}/{row.result}"), row.place]))


def angle_table(comparison: xr.DataTree) -> Table | None:
    """The smallest and the largest of the k angles in degrees, with their null, and the largest between halves."""
    angles = comparison["angles"].to_dataset()
    if not angles.data_vars:
        return None
    table = blank(f"Angles in degrees between the k leading {angles.attrs['between']}",
                  "layer", "k", "smallest", "null", "largest", "null", "halves one", "halves other")  # fmt: skip
    for at, layer in enumerate(meetings(angles)):
        row = np.degrees(angles.isel(layer=at))
        k = int(angles.k[at])
        picked = [("angle", 0), ("angle_null", 0), ("angle", k - 1), ("angle_null", k - 1),
                  ("angle_halves_one", k - 1), ("angle_halves_other", k - 1)]  # fmt: skip
        table.add_row(layer, str(k), *(number(float(row[name][mode]), 1) for name, mode in picked))
    return table


def outlier_table(comparison: xr.DataTree) -> Table | None:
    """What outlier tokens change, as plug-in estimates beside noise floor or null; only where nothing else differs."""
    kept = comparison.attrs.get("outliers_kept_in")
    paths = [path for path, *_ in OUTLIERS]
    if kept is None or not all(has(comparison, f"{path}_one") for path in paths):
        return None
    order = (kept, RUNS[1 - RUNS.index(kept)])
    columns = [
        name
        for path, beside, _ in OUTLIERS
        for name in (f"{plug_in(path)}\nkept", f"\n{beside}", "\ndropped", f"\n{beside}")
    ]
    table = blank("What outlier tokens change (plug-in estimates)", "layer", *columns)
    values = {path: comparison[path.partition("/")[0]].to_dataset() for path in paths}
    values[paths[0]] = values[paths[0]].sel(component="position")
    for at, layer in enumerate(meetings(values[paths[1]])):
        cells = [
            number(factor(path) * float(values[path][f"{path.partition('/')[2]}{ending}_{run}"][at]), digits)
            for path, beside, digits in OUTLIERS
            for run in order
            for ending in ("", f"_{beside}")
        ]
        table.add_row(layer, *cells)
    return table


def plug_in(path: str) -> str:
    """The heading of a plug-in estimate in a table of nothing else."""
    return "position share %" if path == "variance/share" else heading(path).removesuffix(", plug-in")

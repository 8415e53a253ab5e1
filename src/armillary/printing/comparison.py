"""A comparison of two runs as rows of data and as it is printed."""

import json

import numpy as np
import pandas as pd
import xarray as xr
from rich.console import Group
from rich.table import Table
from rich.text import Text

from armillary.printing.numbers import number, with_error
from armillary.results.comparing import BESIDE, DEPTHS
from armillary.results.two_runs import RUNS

DIFFERENCE = ("difference", "difference_se", "difference_low", "difference_high", "differs")

HEADLINES = (
    ("position %", "share_corrected", 100.0, 2),
    ("stable rank", "rank_stable_corrected", 1.0, 2),
    ("relative norm", "relative_norm_corrected", 1.0, 3),
)
"""What of /position is printed layer by layer: heading, result, factor, digits."""

OUTLIERS = (
    ("position %", "variance", "share", "floor", 100.0, 2),
    ("stable rank", "position", "rank_stable", "null", 1.0, 2),
    ("relative norm", "position", "relative_norm", "null", 1.0, 3),
)
"""What outlier tokens may change: heading, group, result, what stands beside it, factor, digits."""

PLACES = ("", "frequency=10")
"""Which points of a further axis are printed with their ranges: the K of the paper's table 2."""


def difference_rows(comparison: xr.DataTree) -> pd.DataFrame:
    """One row per result and layer: both values, what stands beside them, the difference and its interval.

    `axis` is layer or block, `at_one` and `at_other` are the layers that meet, `place` is the point on a further axis
    (component=position); what a result does not have is missing.
    """
    frames = [
        rows_of(name, result, node.to_dataset())
        for name, node in comparison.children.items()
        if name != "angles"
        for result in results_of(node.to_dataset())
    ]
    rows = pd.concat(frames, ignore_index=True)
    first = ["group", "result", "axis", "at_one", "at_other", "place"]
    beside = [f"{run}{ending}" for ending in ("", *BESIDE) for run in RUNS]
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
    place = [", ".join(f"{dim}={value}" for dim, value in row.items()) for row in rows[further].to_dict("records")]
    rows = rows.rename(columns={f"{axis}_{run}": f"at_{run}" for run in RUNS})
    return rows.assign(group=group, result=result, axis=axis, place=place or "")


def printed(comparison: xr.DataTree) -> Group:
    """The comparison for a terminal: what is compared, a summary, the layers, angles, outliers, how to read them."""
    about = comparison.attrs
    head = Text(f"one:   {about['one']}\nother: {about['other']}\nThe runs differ in {about['differ_in']}.")
    tables = [summary_table(comparison), layer_table(comparison), *range_tables(comparison)]
    tables += [table for table in (angle_table(comparison), outlier_table(comparison)) if table is not None]
    return Group(head, *tables, Text(about["notes"]))


def blank(title: str, *columns: str) -> Table:
    """An empty table with numbers to the right."""
    table = Table(title=Text(title), title_justify="left")
    for name in columns:
        quiet = name.strip() in ("null", "floor", "halves one", "halves other")
        table.add_column(name, justify="right", style="dim" if quiet else "", no_wrap=True)
    return table


def summary_table(comparison: xr.DataTree) -> Table:
    """One row per result that has an error: in how many layers it differs, and where it does so most clearly."""
    rows = difference_rows(comparison)
    table = blank(
        "Where the runs differ", "result", "differs in", "mean of one", "mean of other", "clearest, other − one"
    )
    table.columns[0].justify = "left"
    for (group, result, place), part in rows[rows.differs.notna()].groupby(["group", "result", "place"], sort=False):
        known = part.difference_se.notna().sum()
        unknown = f", {len(part) - known} not determined" if known < len(part) else ""
        table.add_row(
            f"/{group}/{result} {place}".strip(),
            f"{int(part.differs.sum())} of {len(part)} {part['axis'].iloc[0]}s{unknown}",
            *(f"{part[run].mean():.4g}" if part[run].notna().any() else "–" for run in RUNS),
            clearest(part),
        )
    return table


def clearest(rows: pd.DataFrame) -> str:
    """The difference that is largest in standard errors, and where; a dash where none has an error."""
    known = rows[rows.difference_se > 0]
    if known.empty:
        return "–"
    most = known.loc[(known.difference.abs() / known.difference_se).idxmax()]
    return f"{most.difference:+.3g} ±{most.difference_se:.2g} at {meeting(int(most.at_one), int(most.at_other))}"


def meeting(one: int, other: int) -> str:
    """Which layers meet: one number where it is the same."""
    return str(one) if one == other else f"{one}/{other}"


def meetings(dataset: xr.Dataset) -> list[str]:
    """Which layers meet in each row."""
    return [
        meeting(*pair)
        for pair in zip(dataset.layer_one.values.tolist(), dataset.layer_other.values.tolist(), strict=True)
    ]


def layer_table(comparison: xr.DataTree) -> Table:
    """Position share, stable rank and relative norm of both runs, layer by layer; * where they differ."""
    position = comparison["position"].to_dataset()
    columns = [column for heading, *_ in HEADLINES for column in (f"{heading}\none", "\nother", "\nother − one")]
    table = blank("Layer by layer, without small-sample bias, ± one standard error", "layer", *columns)
    for at, layer in enumerate(meetings(position)):
        row = position.isel(layer=at)
        cells = []
        for _, result, factor, digits in HEADLINES:
            gap, error = (factor * float(row[f"{result}_{name}"]) for name in ("difference", "difference_se"))
            cells += [number(factor * float(row[f"{result}_{run}"]), digits) for run in RUNS]
            cells.append(with_error(gap, error, digits) + ("*" if row[f"{result}_differs"] else " "))
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
    names = [" ".join([part.result.iloc[0], part.place.iloc[0]]).strip() for part in results]
    columns = [column for name in names for column in (f"{name}\none", "\nother")]
    table = blank("Value [lowest, highest with a group left out]; nothing is concluded", "layer", *columns)
    for rows in zip(*(part.to_dict("records") for part in results), strict=True):
        cells = [f"{row[run]:.4g} [{row[f'{run}_low']:.4g}, {row[f'{run}_high']:.4g}]" for row in rows for run in RUNS]
        table.add_row(meeting(rows[0]["at_one"], rows[0]["at_other"]), *cells)
    return table


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
    """What outlier tokens change, by the plain formulas and beside the noise floor; only where nothing else differs."""
    kept = comparison.attrs.get("outliers_kept_in")
    if kept is None:
        return None
    order = [("kept", kept), ("dropped", RUNS[1 - RUNS.index(kept)])]
    columns = [
        name
        for heading, *_, beside, _, _ in OUTLIERS
        for name in (f"{heading}\nkept", f"\n{beside}", "\ndropped", f"\n{beside}")
    ]
    table = blank("What outlier tokens change (plain formulas)", "layer", *columns)
    datasets = {name: comparison[name].to_dataset() for name in ("variance", "position")}
    datasets["variance"] = datasets["variance"].sel(component="position")
    for at, layer in enumerate(meetings(datasets["position"])):
        cells = [
            number(factor * float(datasets[group][f"{result}{ending}_{run}"][at]), digits)
            for _, group, result, beside, factor, digits in OUTLIERS
            for _, run in order
            for ending in ("", f"_{beside}")
        ]
        table.add_row(layer, *cells)
    return table

"""The differences between two runs as rows of data, and the whole comparison as JSON."""

import json

import pandas as pd
import xarray as xr

from armillary.results.comparing import BESIDE, DEPTHS
from armillary.results.two_runs import RUNS

DIFFERENCE = ("difference", "difference_se", "difference_low", "difference_high", "difference_p", "differs")


BY_THEMSELVES = ("angles", "kinds")
"""Groups of a comparison that are no results side by side."""


def difference_rows(comparison: xr.DataTree) -> pd.DataFrame:
    """One row per result and layer: both values, what stands beside them, the difference and its interval.

    `axis` is layer or block, `at_one` and `at_other` are the layers that meet, `place` is the point on a further axis
    (component=position); what a result does not have is missing.
    """
    first = ["group", "result", "axis", "at_one", "at_other", "place"]
    beside = [f"{run}{ending}" for ending in ("", *BESIDE) for run in RUNS]
    groups = {name: node.to_dataset() for name, node in comparison.children.items() if name not in BY_THEMSELVES}
    frames = [rows_of(name, result, group) for name, group in groups.items() for result in results_of(group)]
    rows = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=first)
    return rows[[name for name in (*first, *beside, *DIFFERENCE) if name in rows]]


def angle_rows(comparison: xr.DataTree) -> pd.DataFrame:
    """One row per layer and angle, in radians, smallest first; none where the runs share no space."""
    dataset = comparison["angles"].to_dataset()
    if not dataset.data_vars:
        return pd.DataFrame()
    return dataset.to_dataframe().reset_index().dropna(subset="angle").drop(columns="layer")


def kind_rows(comparison: xr.DataTree) -> pd.DataFrame:
    """One row per head that has a kind in one of the runs, those that change it first, the largest change on top."""
    dataset = comparison["kinds"].to_dataset()
    return dataset.to_dataframe().reset_index(drop=True) if dataset.data_vars else pd.DataFrame()


def as_json(comparison: xr.DataTree) -> str:
    """The whole comparison: what was compared and how to read it, differences, angles in radians, kinds of heads."""
    tables = {
        "results": difference_rows(comparison),
        "angles": angle_rows(comparison),
        "kinds": kind_rows(comparison),
    }
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


def counted(rows: pd.DataFrame) -> str:
    """What the rows of one result are: heads, layers or blocks."""
    return "heads" if rows.place.iloc[0].startswith("head=") else f"{rows['axis'].iloc[0]}s"


def meeting(one: int, other: int) -> str:
    """Which layers meet: one number where it is the same."""
    return str(one) if one == other else f"{one}/{other}"

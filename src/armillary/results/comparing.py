"""Two runs side by side: every result that has an error, a range or a null, and where the two differ significantly."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xarray as xr

from armillary.errors import RequestError
from armillary.measures.errors.groups import means_without
from armillary.measures.errors.jackknife import half_width, standard_error
from armillary.measures.errors.testing import discoveries, p_values
from armillary.results.angles import position_angles
from armillary.results.kinds import KIND, kinds_apart
from armillary.results.reading import LEVEL, WINDOWS, array, draws, has, kept, row_of, simulated
from armillary.results.store import Run, opened, tree_of
from armillary.results.two_runs import (
    RUNS,
    both_hold,
    depths_explained,
    described,
    differing_settings,
    held_by_one,
    notes,
    outliers_kept_in,
    same_groups,
    same_windows,
)
from armillary.system.threads import one_core_each

WITHOUT = "_without"
DEPTHS = ("layer", "block", "step")
BESIDE = ("_se", "_low", "_high", "_null", "_null_rotation", "_null_covariance", "_floor")
"""What may stand beside a result: standard error, lowest and highest with a group left out, nulls, noise floor."""


def compare(one: Run | str | Path, other: Run | str | Path) -> xr.DataTree:
    """Two runs of any kind side by side: other text, model, checkpoint, random weights, seed or rule for outliers.

    In each group that both runs hold, for every result X along layers or blocks that has something beside it: `X_one`
    and `X_other` with what stands beside them (`X_null_one`, `X_low_other`, ...). For a result with a standard error
    also `X_difference` = other − one, `X_difference_se`, `X_difference_low` and `_high`, the 95 % interval with
    Student's t at the smaller number of draws − 1, `X_difference_p`, its p-value, and `X_differs`: whether it is
    significant when the false discovery rate over the rows of X is held at 5 % (Benjamini & Hochberg 1995). Where the
    groups of both runs hold the same documents the runs are paired: the error is that of the differences without each
    group. Elsewhere it is √(se₁² + se₂²), as for independent runs. Ranks and
    maxima have no standard error: their ranges stand beside each other and nothing is concluded. /angles has the
    principal angles of the positional bases (see `angles.position_angles`), /kinds the heads that are of another kind
    (see `kinds.kinds_apart`). Models of different depth are compared by
    relative depth, the shallower one giving the rows: `layer_one` and `layer_other` say which layers meet. Training
    runs are compared at the steps that both have. The
    attribute `notes` says how to read the numbers, above all whether the two errors are independent.
    """
    one, other = opened(one), opened(other)
    refuse_nothing_in_common(one, other)
    paired = same_groups(one, other)
    groups: dict[str, xr.Dataset] = {}
    left_out: list[str] = []
    for name in (name for name in one.results.children if name in other.results.children):
        groups[name], unlike = compared_group(one, other, name, paired=paired)
        left_out += [f"/{name}/{result}" for result in unlike]
    groups = {name: dataset for name, dataset in groups.items() if dataset.data_vars}
    named = both_hold(one, other, "taxonomy") and all(has(run.results, KIND) for run in (one, other))
    groups["kinds"] = kinds_apart(one, other, groups) if named else xr.Dataset()
    groups["angles"] = angles(one, other) if both_hold(one, other, "residual", "position", "corpus") else xr.Dataset()
    about = {
        **dict(zip(RUNS, map(described, (one, other)), strict=True)),
        "differ_in": differing_settings(one, other),
        "same_windows": same_windows(one, other),
        "paired": paired,
        "outliers_kept_in": outliers_kept_in(one, other),
        "held_by_one": " ".join(held_by_one(one, other)),
        "depths": " ".join(depths_explained(one, other)),
        "notes": "\n".join(notes(one, other, groups["angles"], left_out)),
    }
    return tree_of(groups, about)


def compared_group(one: Run, other: Run, group: str, *, paired: bool) -> tuple[xr.Dataset, list[str]]:
    """One group of the comparison, and the results that have other axes in the two runs."""
    pair = [with_replicates(run, group) if paired else with_beside(run, group) for run in (one, other)]
    return side_by_side(*matched(*pair), fewest_draws(one, other, group, pair[0]))


def refuse_nothing_in_common(one: Run, other: Run) -> None:
    """Refuse two runs that hold no group in common, and simulations, which have neither layers nor blocks."""
    for run in (one, other):
        if simulation := simulated(run.results):
            raise RequestError(f"expected two runs of models, got a simulation of {simulation}: show it by itself")
    held = [", ".join(f"/{name}" for name in run.results.children) or "nothing" for run in (one, other)]
    if not set(one.results.children) & set(other.results.children):
        raise RequestError(f"expected two runs with a group in common, got {held[0]} and {held[1]}: nothing to compare")


def matching_layers(one: int, other: int) -> tuple[np.ndarray, np.ndarray]:
    """Which layers stand beside each other: all of the shallower model, of the deeper the nearest in relative depth."""
    first, second = (np.rint(np.linspace(0, count - 1, min(one, other))).astype(int) for count in (one, other))
    return first, second


def matched(one: xr.Dataset, other: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """The two groups with as many layers and blocks each, at the steps that both have; coordinates say which ones."""
    for axis in DEPTHS:
        if axis in one.dims and axis in other.dims:
            if axis == "step":
                places = [np.intersect1d(one[axis], other[axis])] * 2
                rows = [
                    np.searchsorted(dataset[axis], steps) for dataset, steps in zip((one, other), places, strict=True)
                ]
            else:
                places = rows = list(matching_layers(one.sizes[axis], other.sizes[axis]))
            names = {f"{axis}_{run}": (axis, place) for run, place in zip(RUNS, places, strict=True)}
            one, other = (
                dataset.isel({axis: index}).drop_vars(axis, errors="ignore").assign_coords(names)
                for dataset, index in zip((one, other), rows, strict=True)
            )
    return one, other


def fewest_draws(one: Run, other: Run, group: str, dataset: xr.Dataset) -> dict[str, float]:
    """The smaller number of independent draws behind each result's errors."""
    return {
        name: min(float(draws(run.results, f"{group}/{name}")) for run in (one, other)) for name in comparable(dataset)
    }


def side_by_side(one: xr.Dataset, other: xr.Dataset, rests_on: dict[str, float]) -> tuple[xr.Dataset, list[str]]:
    """The results of two groups with as many layers, and those that have other axes."""
    columns: dict[str, xr.DataArray] = {}
    left_out = []
    for name in comparable(one):
        if name not in other.data_vars:
            continue
        if not alike(one[name], other[name]):
            left_out.append(name)
            continue
        beside = [ending for ending in ("", *BESIDE) if name + ending in one and name + ending in other]
        for ending in beside:
            columns |= {f"{name}{ending}_one": one[name + ending], f"{name}{ending}_other": other[name + ending]}
        if "_se" in beside:
            columns |= difference(one, other, name, rests_on[name])
    return xr.Dataset(columns), left_out


def comparable(dataset: xr.Dataset) -> Iterator[str]:
    """The results along layers or blocks that have something beside them."""
    for name in map(str, dataset.data_vars):
        if set(DEPTHS) & set(dataset[name].dims) and any(name + ending in dataset.data_vars for ending in BESIDE):
            yield name


def with_beside(run: Run, group: str) -> xr.Dataset:
    """The results of a group and what stands beside them; the large sums of a pass are left on disk."""
    dataset = run.results[group].to_dataset()
    wanted = {name + ending for name in comparable(dataset) for ending in ("", *BESIDE)}
    found = dataset[[name for name in dataset.data_vars if name in wanted and kept(f"{group}/{name}")]]
    return found.dropna("step", how="all") if "step" in found.dims else found  # between two validations


def with_replicates(run: Run, group: str) -> xr.Dataset:
    """The same, with the values that each result has when one group of documents is left out, where they are known."""
    dataset, found = with_beside(run, group), {}
    for name in comparable(dataset):
        if has(run.results, f"{group}/{name}{WITHOUT}"):
            found[name + WITHOUT] = array(run.results, f"{group}/{name}{WITHOUT}")
        elif has(run.results, f"head_groups/{name}_groups") and not row_of(f"{group}/{name}").draws:
            each = array(run.results, f"head_groups/{name}_groups").transpose("group", ...)
            _, without = means_without(each.values, array(run.results, WINDOWS).values)
            found[name + WITHOUT] = each.copy(data=without)
    return dataset.assign(found)


def alike(one: xr.DataArray, other: xr.DataArray) -> bool:
    """Whether two arrays have the same axes with the same values along them."""
    return (
        one.dims == other.dims
        and one.shape == other.shape
        and all(np.array_equal(one[axis], other[axis]) for axis in one.dims)
    )


def difference(one: xr.Dataset, other: xr.Dataset, name: str, rests_on: float) -> dict[str, xr.DataArray]:
    """other − one, its standard error, the interval, its p-value, and whether it is a discovery among its rows."""
    gap, error = other[name] - one[name], difference_error(one, other, name)
    width = half_width(rests_on, LEVEL)
    p = gap.copy(data=p_values(gap.values, error.transpose(*gap.dims).values, rests_on))
    found = {"": gap, "_se": error, "_low": gap - width * error, "_high": gap + width * error, "_p": p}
    units = {"units": one[name].attrs.get("units", "")}
    columns = {f"{name}_difference{ending}": values.assign_attrs(units) for ending, values in found.items()}
    return {**columns, f"{name}_differs": gap.copy(data=discoveries(p.values, 1 - LEVEL))}


def difference_error(one: xr.Dataset, other: xr.Dataset, name: str) -> xr.DataArray:
    """The standard error of a difference: of paired runs where both have values without each group of documents."""
    without = name + WITHOUT
    if without in one and without in other and one[without].sizes == other[without].sizes:
        axis = next(axis for axis in one[without].dims if axis not in one[name].dims)
        each = (other[without] - one[without]).transpose(axis, *one[name].dims)
        return one[name].copy(data=standard_error(each.values))
    return (one[f"{name}_se"] ** 2 + other[f"{name}_se"] ** 2) ** 0.5


def angles(one: Run, other: Run) -> xr.Dataset:
    """The angles between the positional bases, with the layers that meet."""
    rows = matching_layers(*(run.results["residual"].sizes["layer"] for run in (one, other)))
    pairs = list(zip(*(map(int, index) for index in rows), strict=True))
    with one_core_each():  # many small products: threads that wait for a busy core take 20 times as long
        found = position_angles(one, other, pairs)
    names = {f"layer_{run}": ("layer", index) for run, index in zip(RUNS, rows, strict=True)}
    return found.assign_coords(names) if found.data_vars else found

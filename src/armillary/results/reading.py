"""Results as figures need them: by path, one value per layer with its error, or a few layers of something larger."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from armillary.errors import RequestError
from armillary.measures.errors.jackknife import FEWEST, effective_groups, half_width
from armillary.measures.heldout import FOLDS
from armillary.measures.massive import TIMES, first_ratio
from armillary.results.schema import GROUPS, Variable
from armillary.results.schema.kinds import adding

LEVEL = 0.95
"""Level of every interval that is drawn or quoted."""

ENDINGS = ("_se", "_low", "_high")
"""What may stand beside a result: its standard error, or its lowest and highest value with a group left out."""

REPEATS, WINDOWS, BLOCKS = "repeats/induction_repeats", "head_groups/windows", "weights/trace_qk"
"""Where a run says how many windows of repeated tokens, groups of documents, and blocks it has."""

SIMULATED = "simulated"
"""The attribute of a group that says on how many simulated draws its errors rest."""


def has(results: xr.DataTree, path: str) -> bool:
    """Whether a run holds group/variable."""
    group, _, variable = path.partition("/")
    return group in results.children and variable in results.children[group].data_vars


def array(results: xr.DataTree, path: str) -> xr.DataArray:
    """The variable group/variable."""
    group, _, variable = path.partition("/")
    return results.children[group].to_dataset()[variable]


def numbers(results: xr.DataTree, path: str, **at: int) -> Float[np.ndarray, "..."]:
    """A variable as float64, at the given index of some axes."""
    return np.asarray(array(results, path).isel(at).values, dtype=np.float64)


def optional(results: xr.DataTree, path: str, **at: int) -> Float[np.ndarray, "..."] | None:
    """The same, or None where the run lacks it."""
    return numbers(results, path, **at) if has(results, path) else None


def massive_times(results: xr.DataTree) -> float:
    """How many times the layer's median norm a token of this run must exceed to be massive."""
    return float(numbers(results, "outliers/threshold")) if has(results, "outliers/threshold") else TIMES


def first_ratios(results: xr.DataTree) -> Float[np.ndarray, " layer"] | None:
    """The norm at position 0 over the layer's median norm, whether the run left it out or kept it; None: not known.

    Where it was left out this is the norm of the mean state, where it was kept the mean norm.
    """
    if not has(results, "outliers/median_norm"):
        return None
    median = numbers(results, "outliers/median_norm")
    if has(results, "residual/first"):
        return np.array([first_ratio(*pair) for pair in zip(numbers(results, "residual/first"), median, strict=True)])
    if not has(results, "residual/norm_groups"):
        return None
    norms = array(results, "residual/norm_groups")
    if "position" not in norms.coords or int(norms.position.values[0]) != 0:
        return None
    return np.nanmean(norms.isel(position=0).values.astype(np.float64), axis=1) / median


def require(results: xr.DataTree, *groups: str) -> None:
    """Refuse a run that lacks a group, with the command that adds it."""
    lacking = [name for name in groups if name not in results.children]
    if lacking:
        raise RequestError(f"expected a run with /{lacking[0]}, got one without: {adding(GROUPS[lacking[0]].command)}")


def simulated(results: xr.DataTree) -> str:
    """What a run simulates, where it holds simulations alone and no model was asked; empty otherwise."""
    held = [GROUPS[name].simulates for name in results.children if name in GROUPS]
    return ", ".join(dict.fromkeys(held)) if all(held) else ""


def lacking(results: xr.DataTree) -> dict[str, list[str]]:
    """The groups that a run does not hold, by the command that adds them; none to a simulation or a training run."""
    found: dict[str, list[str]] = {}
    if results.children and all(name in GROUPS and GROUPS[name].apart for name in results.children):
        return found
    for name, group in GROUPS.items():
        apart = group.simulates or group.apart
        if name not in results.children and not apart and not simulated(results):
            found.setdefault(group.command, []).append(name)
    return found


def row_of(path: str) -> Variable:
    """The schema's row of group/variable; an empty one for what the schema does not know."""
    group, _, variable = path.partition("/")
    known = GROUPS[group].variables if group in GROUPS else {}
    return known.get(variable, Variable((), "", ""))


def kept(path: str) -> bool:
    """Whether a variable counts: files of earlier versions hold errors that did not cover, which the schema dropped."""
    group, _, variable = path.partition("/")
    known = GROUPS[group].variables if group in GROUPS else {}
    return variable in known or variable.removesuffix("_se") not in known


def label_of(path: str) -> str:
    """What a result is called in tables and figures."""
    return row_of(path).label or path.partition("/")[2].replace("_", " ")


def draws(results: xr.DataTree, path: str) -> int | float:
    """On how many independent draws the error of a result rests: effective groups, or repeats, or blocks.

    Degrees of freedom are one less. 0 where the run does not say, and then there is no interval.
    """
    group, row = path.partition("/")[0], row_of(path)
    if row.error == "repeats":
        return array(results, REPEATS).sizes["repeat"] if has(results, REPEATS) else 0
    if row.error == "blocks":
        return array(results, BLOCKS).sizes["block"] if has(results, BLOCKS) else 0
    if row.error == "simulated":
        return float(results.children[group].attrs.get(SIMULATED, 0))
    if "groups" in results.children[group].attrs:  # a probe that read some of the groups says of how many
        return float(results.children[group].attrs["groups"])
    if row.draws and has(results, row.draws):
        return effective_groups(numbers(results, row.draws))
    if has(results, "corpus/group"):
        return effective_groups(group_sizes(results, FOLDS if row.folds else None))
    return effective_groups(numbers(results, WINDOWS)) if has(results, WINDOWS) else 0


def group_sizes(results: xr.DataTree, folds: int | None = None) -> Float[np.ndarray, " group"]:
    """How many windows each group of documents holds, or each fold of groups."""
    group = array(results, "corpus/group").values.astype(np.int64)
    return np.unique(group if folds is None else group % folds, return_counts=True)[1].astype(np.float64)


def why_no_error(results: xr.DataTree) -> str:
    """Why a run's documents allow no error or no interval; empty where they do, or where the run does not say."""
    if not has(results, "corpus/group"):
        return ""
    sizes = group_sizes(results)
    if sizes.sum() == 1:
        return "one window: position, context and residual cannot be separated, and nothing has an error"
    if len(sizes) < FEWEST:
        return f"no errors: they need {FEWEST} groups of documents, and there are {len(sizes)}"
    if effective_groups(sizes) < 2:
        share = 100 * sizes.max() / sizes.sum()
        return f"no intervals: one group of documents holds {share:.0f} % of the windows, so its error is not known"
    return ""


@dataclass(frozen=True)
class Estimate:
    """One value per layer or block, and what is known of its error: NaN where nothing is.

    `se` is a standard error that rests on `draws` independent draws; `low` and `high` are the extremes over the sets
    that leave one group out, for ranks and maxima, which have no standard error.
    """

    axis: str
    value: Float[np.ndarray, " layer"]
    se: Float[np.ndarray, " layer"]
    low: Float[np.ndarray, " layer"]
    high: Float[np.ndarray, " layer"]
    draws: int | float

    def margin(self, at_once: int = 1) -> Float[np.ndarray, " layer"]:
        """Half the width of a 95 % interval; of intervals that all hold at once, if several are read (Bonferroni)."""
        return half_width(self.draws, 1 - (1 - LEVEL) / at_once) * self.se

    def percent(self) -> "Estimate":
        """A share in per cent."""
        return replace(self, value=100 * self.value, se=100 * self.se, low=100 * self.low, high=100 * self.high)

    def band(self) -> tuple[Float[np.ndarray, " layer"], Float[np.ndarray, " layer"]]:
        """What is drawn around the value: the 95 % interval, or low and high, carried on to the value.

        A value that noise lowers is lower whichever group is left out: what is left is noisier.
        """
        margin = self.margin()
        known = np.isfinite(margin)
        low, high = np.minimum(self.low, self.value), np.maximum(self.high, self.value)
        return np.where(known, self.value - margin, low), np.where(known, self.value + margin, high)


def estimate(results: xr.DataTree, path: str, **at: int) -> Estimate:
    """A variable over layers or blocks with the error that stands beside it under its name and an ending."""
    variable = array(results, path).isel(at)
    value = np.asarray(variable.values, dtype=np.float64)
    beside = [optional(results, path + ending, **at) if kept(path + ending) else None for ending in ENDINGS]
    se, low, high = (np.full_like(value, np.nan) if error is None else error for error in beside)
    return Estimate(str(variable.dims[0]), value, se, low, high, draws(results, path))


def chosen(count: int, at_most: int, among: int | None = None) -> Int[np.ndarray, " chosen"]:
    """Indices of at most that many layers, evenly spread, the first and the last among them, and one that must be."""
    spread = np.linspace(0, count - 1, min(count, at_most)).round().astype(np.int64)
    return np.unique(spread if among is None else np.append(spread, among))


def thinned(count: int, at_most: int) -> Int[np.ndarray, " chosen"]:
    """Every n-th index, n as small as at_most allows."""
    return np.arange(0, count, max(1, -(-count // at_most)), dtype=np.int64)

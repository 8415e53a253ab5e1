"""Kinds of heads: those of a run, and which heads have another kind in another run."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Bool, Shaped

from armillary.results.reading import array, has
from armillary.results.schema.naming import KINDS, SCORES
from armillary.results.store import Run

KIND = "taxonomy/kind"
UNNAMED = "no kind"
Kinds = Shaped[np.ndarray, "block head"]

UNIFORM = "uniform"
"""What a head without a kind is called that attends evenly, as untrained heads do: no control stands against it."""

DECIDING = {kind: f"taxonomy/{kind}" for kind in SCORES} | {UNIFORM: "heads/entropy_relative"}
"""The result that decides each kind."""


class Moved(NamedTuple):
    """The score of a kind in two runs, the 95 % interval of its difference, and whether it differs significantly."""

    score: str = ""
    score_one: float = np.nan
    score_other: float = np.nan
    difference_low: float = np.nan
    difference_high: float = np.nan
    differs: bool = False

    @property
    def by(self) -> float:
        """How far it moved; what is not known did not move."""
        return float(np.nan_to_num(abs(self.score_other - self.score_one)))


def kinds_of(results: xr.DataTree) -> Kinds:
    """The kind of every head as it is stored; a kind that is not ours counts as none."""
    stored = array(results, KIND).values.astype(str)
    return np.where(np.isin(stored, list(KINDS)), stored, "")


def all_kinds(results: xr.DataTree) -> list[list[list[str]]]:
    """All kinds of every head as they are stored, the one that names it first; those that are not ours are left out."""
    held = next(path for path in ("taxonomy/labels", KIND) if has(results, path))
    rows = array(results, held).values.astype(str)
    return [[[kind for kind in text.split(", ") if kind in KINDS] for text in row] for row in rows]


def has_kind(kinds: Kinds) -> Bool[np.ndarray, "block head"]:
    """Which heads have a kind, that is a score clearly above the random-weight control."""
    return np.isin(kinds, list(SCORES))


def counted_kinds(kinds: Kinds) -> str:
    """How many heads are of which kind, in the field's words; empty where none has one."""
    counts = {stored: int((kinds == stored).sum()) for stored in SCORES}
    return ", ".join(f"{count} {KINDS[stored]}" for stored, count in counts.items() if count)


def kinds_apart(one: Run, other: Run, compared: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """The heads that have a kind in one of two runs of models of one shape, or are uniform; those that change it first.

    `compared` is the comparison of their results, by group. Along `named`: block and head, `kind_one` and `kind_other`
    as they are stored, whether they are not the same, and of their scores the one that moved most (of uniform heads the
    relative entropy): which it is, its value in both runs, the 95 % interval of its difference, and whether it differs
    significantly. A uniform head has no kind: from none to uniform is no change. Models of different shape have no
    kinds to compare: the dataset is empty.
    """
    first, second = (kinds_of(run.results) for run in (one, other))
    if first.shape != second.shape:
        return xr.Dataset()
    rows = []
    for block, head in np.argwhere((first != "") | (second != "")).tolist():
        kinds = first[block, head], second[block, head]
        scores = [moved(compared, kind, block, head) for kind in dict.fromkeys(kinds) if kind]
        changed = kinds[0] != kinds[1] and {*kinds} != {"", UNIFORM}
        rows.append((changed, block, head, *kinds, max(scores, key=lambda score: score.by)))
    rows.sort(key=lambda row: (not row[0], -row[-1].by))
    columns = [*zip(*((*row[:-1], *row[-1]) for row in rows), strict=True)] or [()] * len(COLUMNS)
    held = zip(COLUMNS.items(), columns, strict=True)
    return xr.Dataset(
        {name: xr.DataArray(np.array(values, dtype=kind), dims="named") for (name, kind), values in held},
        attrs={"heads": first.size},
    )


COLUMNS = {
    **{"changed": bool, "block": int, "head": int, "kind_one": str, "kind_other": str},
    **dict(zip(Moved._fields, (str, float, float, float, float, bool), strict=True)),
}
"""What is said of a head, and of which type it is."""


def moved(compared: Mapping[str, xr.Dataset], kind: str, block: int, head: int) -> Moved:
    """The score that decides a kind, of one head; only its name where the two runs do not both hold it."""
    group, _, name = DECIDING[kind].partition("/")
    ends = ("one", "other", "difference_low", "difference_high", "differs")
    if group not in compared or any(f"{name}_{end}" not in compared[group] for end in ends):
        return Moved(kind)
    one, two, low, high, differs = (compared[group][f"{name}_{end}"].values[block, head] for end in ends)
    return Moved(kind, float(one), float(two), float(low), float(high), bool(differs))


def changed_kinds(kinds: xr.Dataset) -> str:
    """How many heads have another kind in the second run."""
    count = int(kinds.changed.values.sum())
    return f"{count or 'None'} of {kinds.attrs['heads']} heads {'changes' if count < 2 else 'change'} kind"


def surely_changed(kinds: xr.Dataset) -> str:
    """The same, and how many of them by a score that differs significantly."""
    sure = f", {int((kinds.changed & kinds.differs).sum())} significantly" if kinds.changed.any() else ""
    return changed_kinds(kinds) + sure


def head_name(head: Any) -> str:
    """A row of `kinds_apart` as L10H7."""
    return f"L{head.block}H{head.head}"


def kind_step(head: Any) -> str:
    """From which kind to which, in the field's words."""
    return " → ".join(KINDS.get(kind, UNNAMED) for kind in (head.kind_one, head.kind_other))

"""Everything, and everything without each group in turn: the sets that an estimate's error is made from."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from armillary.measures.errors.jackknife import FEWEST, standard_error


class Jackknifed(NamedTuple):
    """An estimate, its standard error over groups of documents, and the estimate without each group."""

    value: float
    se: float
    without: Float[np.ndarray, " group"]


def leave_out(group: Int[np.ndarray, " unit"], groups: int) -> Bool[np.ndarray, "set unit"]:
    """Which units (windows, tokens) each set keeps: the first all of them, the others all but one group's."""
    return np.concatenate([np.ones((1, len(group)), dtype=bool), group != np.arange(groups)[:, None]])


def jackknifed(values: Float[np.ndarray, " set"]) -> Jackknifed:
    """The first set's value with its error, from the values of the other sets."""
    return Jackknifed(float(values[0]), float(standard_error(values[1:])), values[1:].astype(np.float64))


def unknown(groups: int) -> Jackknifed:
    """What cannot be estimated."""
    return Jackknifed(float("nan"), float("nan"), np.full(groups, np.nan))


def count_of(group: Int[np.ndarray, " context"]) -> int:
    """How many groups a run has: they are numbered from 0, and none is empty."""
    return int(group.max()) + 1


class Debiased(NamedTuple):
    """An estimate without its bias of order 1/G, its standard error, and its range as one group is left out."""

    value: Float[np.ndarray, "*value"]
    se: Float[np.ndarray, "*value"]
    low: Float[np.ndarray, "*value"]
    high: Float[np.ndarray, "*value"]


def debiased(values: Float[np.ndarray, "set *value"]) -> Debiased:
    """G θ − (G − 1) mean θ₍₋g₎ (Quenouille, 1956), from the sets of `leave_out`; NaN with fewer than four groups.

    Groups of documents are the independent draws, so this takes off whatever bias the dependence of tokens and windows
    leaves after a correction for independent samples. The correction scatters too, by a part of order 1/G: the error is
    G/(G − 1) times the plain one. The range is that of θ₍₋g₎, moved by as much as the estimate was.
    """
    whole, without = values[0], values[1:]
    groups = len(without)
    value = groups * whole - (groups - 1) * without.mean(0) if groups >= FEWEST else np.full_like(whole, np.nan)
    moved = value - whole
    error = standard_error(without) * groups / max(groups - 1, 1)
    return Debiased(np.asarray(value), error, moved + without.min(0), moved + without.max(0))

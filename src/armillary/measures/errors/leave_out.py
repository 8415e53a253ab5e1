"""Everything, and everything without each group in turn: the sets that an estimate's error is made from."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from armillary.measures.errors.jackknife import standard_error


class LeaveOut(NamedTuple):
    """Which units each set keeps, the first set all of them, and how many units each group holds."""

    kept: Bool[np.ndarray, "set unit"]
    sizes: Float[np.ndarray, " group"]


def leave_out(group: Int[np.ndarray, " unit"]) -> LeaveOut:
    """The sets of units (windows, tokens) with nothing left out and with one group left out. Empty groups are none."""
    names, sizes = np.unique(group, return_counts=True)
    kept = np.concatenate([np.ones((1, len(group)), dtype=bool), group != names[:, None]])
    return LeaveOut(kept, sizes.astype(np.float64))


def error_over_groups(values: Float[np.ndarray, " set"], sizes: Float[np.ndarray, " group"]) -> float:
    """Jackknife standard error of the first value, from the values of the other sets; NaN with a single group."""
    return float(standard_error(values[0], values[1:], sizes))

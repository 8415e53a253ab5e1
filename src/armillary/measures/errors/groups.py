"""Means over groups of documents, with the error that the groups' differences give."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from armillary.measures.errors.jackknife import standard_error


class GroupMean(NamedTuple):
    """A mean over windows and its standard error over groups of documents."""

    mean: Float[np.ndarray, "*value"]
    se: Float[np.ndarray, "*value"]


def group_mean(each: Float[np.ndarray, "group *value"], windows: Int[np.ndarray, "group"]) -> GroupMean:
    """Σ n_g x_g / Σ n_g and its delete-a-group jackknife error; groups without windows are left out.

    The error is NaN with a single group. A weighted mean is linear in the windows, so it has no small-sample bias.
    """
    used = windows > 0
    sizes, values = windows[used].astype(np.float64), each[used].astype(np.float64)
    total = np.tensordot(sizes, values, axes=1)
    whole = np.asarray(total / sizes.sum())
    if len(sizes) < 2:
        return GroupMean(whole, np.full(whole.shape, np.nan))
    weights = sizes.reshape(-1, *(1,) * (values.ndim - 1))
    without = (total - weights * values) / (sizes.sum() - weights)
    return GroupMean(whole, standard_error(whole, without, sizes))

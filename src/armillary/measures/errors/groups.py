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

    A weighted mean is linear in the windows, so it has no small-sample bias.
    """
    used = windows > 0
    whole, without = means_without(each[used], windows[used])
    return GroupMean(whole, standard_error(without))


def means_without(
    each: Float[np.ndarray, "group *value"], windows: Int[np.ndarray, "group"]
) -> tuple[Float[np.ndarray, "*value"], Float[np.ndarray, "group *value"]]:
    """Σ n_g x_g / Σ n_g, and the same without each group in turn; NaN where nothing is left."""
    sizes, values = windows.astype(np.float64), each.astype(np.float64)
    weights = sizes.reshape(-1, *(1,) * (values.ndim - 1))
    parts = np.where(weights > 0, weights * values, 0)
    left = sizes.sum() - weights
    total = parts.sum(0)
    return np.asarray(total / sizes.sum()), (total - parts) / np.where(left > 0, left, np.nan)

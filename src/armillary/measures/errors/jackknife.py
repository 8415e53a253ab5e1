"""Errors over documents: the delete-a-group jackknife for groups of unequal size."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import stats


class Jackknifed(NamedTuple):
    """A bias-reduced estimate and its standard error."""

    estimate: Float[np.ndarray, "*value"]
    standard_error: Float[np.ndarray, "*value"]


def jackknifed(
    whole: Float[np.ndarray, "*value"] | float,
    without: Float[np.ndarray, "group *value"],
    sizes: Float[np.ndarray, " group"],
) -> Jackknifed:
    """Delete-m_j jackknife (Busing, Meijer and van der Leeden, 1999), in the units of the estimate.

    `whole` is the estimate from everything, `without[g]` the estimate without group g, `sizes[g]` how many contexts
    the group holds. The pseudo-value of group g is h θ − (h − 1) θ(−g) with h = n / n_g; the variance is the mean over
    groups of (pseudo-value − estimate)² / (h − 1). With groups of equal size this is the ordinary jackknife.
    """
    groups = len(sizes)
    ratio = (sizes.sum() / sizes).reshape(-1, *(1,) * (without.ndim - 1))
    estimate = groups * np.asarray(whole) - ((1 - 1 / ratio) * without).sum(0)
    pseudo = ratio * np.asarray(whole) - (ratio - 1) * without
    variance = ((pseudo - estimate) ** 2 / (ratio - 1)).mean(0)
    return Jackknifed(np.asarray(estimate), np.asarray(np.sqrt(variance)))


def standard_error(
    whole: Float[np.ndarray, "*value"] | float,
    without: Float[np.ndarray, "group *value"],
    sizes: Float[np.ndarray, " group"],
) -> Float[np.ndarray, "*value"]:
    """The jackknife standard error alone; NaN with a single group, which says nothing about its own spread."""
    if len(sizes) < 2:
        return np.full(np.shape(whole), np.nan)
    return jackknifed(whole, without, sizes).standard_error


def half_width(groups: int | float, level: float = 0.95) -> float:
    """How many standard errors a two-sided interval reaches to each side: Student's t with groups − 1 degrees."""
    return float(stats.t.ppf(0.5 + level / 2, groups - 1)) if groups > 1 else float("nan")

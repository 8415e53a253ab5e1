"""Means over a few random seeds, and whether a change that a document claims is seen in all of them together."""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from armillary.measures.errors.jackknife import half_width

Verdict = Literal["holds", "does not hold here", "does not hold here: the opposite", "not determined"]


class SeedMean(NamedTuple):
    """A mean over seeds and its standard error; NaN as error of a single seed."""

    mean: Float[np.ndarray, "*value"]
    se: Float[np.ndarray, "*value"]


def seed_mean(each: Float[np.ndarray, "*value seed"]) -> SeedMean:
    """Mean over seeds, which are independent draws, and sd/√n."""
    count = each.shape[-1]
    spread = each.std(-1, ddof=1) if count > 1 else np.full(each.shape[:-1], np.nan)
    return SeedMean(np.asarray(each.mean(-1)), np.asarray(spread / np.sqrt(count)))


def claimed_change(differences: Float[np.ndarray, " seed"], sign: int) -> Verdict:
    """Whether differences of runs that begin alike lie on the claimed side: +1 for more, −1 for less.

    By the 95 % interval of their mean, Student's t with seeds − 1 degrees of freedom. Where it includes 0 the claim
    does not hold here; a single seed determines nothing.
    """
    found = seed_mean(differences)
    margin = half_width(len(differences)) * float(found.se)
    if not np.isfinite(margin):
        return "not determined"
    seen = sign * float(found.mean)
    if seen > margin:
        return "holds"
    return "does not hold here: the opposite" if seen < -margin else "does not hold here"

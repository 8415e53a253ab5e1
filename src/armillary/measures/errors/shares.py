"""A share of cases with its exact interval, and the verdict that it allows."""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool
from scipy import stats

Verdict = Literal["holds", "does not hold", "not determined"]

LEVEL = 0.05
"""One minus the level of intervals."""


class Share(NamedTuple):
    """A share with its 95 % interval (Clopper–Pearson, cases taken as independent), and the verdict on it."""

    verdict: Verdict
    share: float
    low: float
    high: float


def share_below(cases: Bool[np.ndarray, " case"], bound: float) -> Share:
    """Whether the share of cases is below a bound: holds where the interval is, does not where it lies above."""
    count, found = len(cases), int(cases.sum())
    if not count:
        return Share("not determined", *[float("nan")] * 3)
    low = float(stats.beta.ppf(LEVEL / 2, found, count - found + 1)) if found else 0.0
    high = float(stats.beta.ppf(1 - LEVEL / 2, found + 1, count - found)) if found < count else 1.0
    verdict: Verdict = "holds" if high < bound else "does not hold" if low > bound else "not determined"
    return Share(verdict, found / count, low, high)


def share_above(cases: Bool[np.ndarray, " case"], bound: float) -> Share:
    """The opposite verdict, from the same numbers."""
    found = share_below(cases, bound)
    opposite: dict[Verdict, Verdict] = {"holds": "does not hold", "does not hold": "holds"}
    return found._replace(verdict=opposite.get(found.verdict, found.verdict))

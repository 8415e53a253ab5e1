"""A share of independent cases with its exact interval, and the verdict that it allows."""

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


def share_interval(found: int, count: int) -> tuple[float, float]:
    """The 95 % interval for `found` of `count` independent cases (Clopper and Pearson, 1934); NaN without cases.

    It covers at least at its level whatever the share is, also where none or all cases are found.
    """
    if count < 1:
        return float("nan"), float("nan")
    low = float(stats.beta.ppf(LEVEL / 2, found, count - found + 1)) if found else 0.0
    high = float(stats.beta.ppf(1 - LEVEL / 2, found + 1, count - found)) if found < count else 1.0
    return low, high


def share_below(cases: Bool[np.ndarray, " case"], bound: float) -> Share:
    """Whether the share of cases is below a bound: holds where the interval is, does not where it lies above."""
    count, found = len(cases), int(cases.sum())
    low, high = share_interval(found, count)
    verdict: Verdict = "holds" if high < bound else "does not hold" if low > bound else "not determined"
    return Share(verdict, found / count if count else float("nan"), low, high)


def share_above(cases: Bool[np.ndarray, " case"], bound: float) -> Share:
    """The opposite verdict, from the same numbers."""
    found = share_below(cases, bound)
    opposite: dict[Verdict, Verdict] = {"holds": "does not hold", "does not hold": "holds"}
    return found._replace(verdict=opposite.get(found.verdict, found.verdict))

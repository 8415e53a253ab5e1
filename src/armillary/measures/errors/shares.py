"""The interval of a share of independent cases."""

from scipy import stats


def share_interval(found: int, count: int, level: float = 0.95) -> tuple[float, float]:
    """Lower and upper end for `found` of `count` independent cases (Clopper and Pearson, 1934); NaN without cases.

    It covers at least at its level whatever the share is, also where none or all cases are found.
    """
    if count < 1:
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    low = float(stats.beta.ppf(tail, found, count - found + 1)) if found else 0.0
    high = float(stats.beta.ppf(1 - tail, found + 1, count - found)) if found < count else 1.0
    return low, high

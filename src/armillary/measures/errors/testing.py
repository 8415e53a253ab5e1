"""Many values tested at once: p-values by Student's t, and which of them are discoveries."""

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats


def p_values(
    value: Float[np.ndarray, "*row"], error: Float[np.ndarray, "*row"], draws: int | float
) -> Float[np.ndarray, "*row"]:
    """How often chance alone gives a value as far from 0, two-sided, by Student's t with draws − 1 degrees of freedom.

    NaN where the value or its error is not known, 1 where both are 0, and 0 where only the error is.
    """
    if draws < 2:
        return np.full(np.shape(value), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where((value == 0) & (error == 0), 0.0, np.abs(value) / error)
    return np.asarray(2 * stats.t.sf(ratio, draws - 1))


def sign_test(differences: Float[np.ndarray, "*row group"]) -> Float[np.ndarray, "*row"]:
    """How often chance alone gives as uneven a number of groups above and below 0, two-sided; ties count for neither.

    Asks nothing of how the differences are spread, so it holds where a few groups make up the mean.
    """
    above, below = (differences > 0).sum(-1), (differences < 0).sum(-1)
    return np.asarray(np.minimum(2 * stats.binom.cdf(np.minimum(above, below), above + below, 0.5), 1.0))


def discoveries(p: Float[np.ndarray, "*row"], rate: float) -> Bool[np.ndarray, "*row"]:
    """Which p-values are significant when the false discovery rate is held (Benjamini & Hochberg 1995).

    Of all that are called significant a share of `rate` at most is false on average; values without a p-value are none.
    """
    known = np.isfinite(p)
    found = np.zeros(p.shape, dtype=bool)
    found[known] = stats.false_discovery_control(p[known], method="bh") <= rate
    return found

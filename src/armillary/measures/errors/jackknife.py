"""Errors over documents: the delete-a-group jackknife, right for unequal groups of dependent windows."""

import numpy as np
from jaxtyping import Float
from scipy import stats

FEWEST = 4
"""With fewer groups there is no standard error: their spread says next to nothing about itself."""


def standard_error(without: Float[np.ndarray, "group *value"]) -> Float[np.ndarray, "*value"]:
    """√((G − 1)/G Σ_g (θ₍₋g₎ − mean θ₍₋g₎)²), θ₍₋g₎ the estimate without group g; NaN with fewer than four groups.

    Every group counts as one draw, whatever its size: windows of one document depend on each other, so a group of many
    windows is no surer of its own mean than a small one. (Weights by size, as of Busing, Meijer and van der Leeden,
    1999, take windows for independent: with sizes 30, 12, 8, 5, 3, 3, 2, 1 and an intraclass correlation of 0.3 the
    error is 0.65 of the true scatter.)
    """
    groups = len(without)
    if groups < FEWEST:
        return np.full(without.shape[1:], np.nan)
    return np.asarray(np.sqrt((groups - 1) / groups * np.sum((without - without.mean(0)) ** 2, 0)))


def effective_groups(sizes: Float[np.ndarray, " group"]) -> float:
    """(Σ n_g)² / Σ n_g² (Kish, 1965): as many groups as G equal ones would be; what the degrees of freedom rest on.

    A large group makes up most of the estimate and of its error, so that the error scatters like one from few groups.
    """
    return float(sizes.sum() ** 2 / np.sum(sizes**2)) if sizes.any() else 0.0


def half_width(draws: int | float, level: float = 0.95) -> float:
    """How many standard errors a two-sided interval reaches to each side: Student's t with draws − 1 degrees.

    `draws` is the effective number of groups, or the number of repeats; no bound gives the normal law. NaN with fewer
    than two: then one group makes up most of the estimate, and nothing tells how far it is off.
    """
    return float(stats.t.ppf(0.5 + level / 2, draws - 1)) if draws >= 2 else float("nan")

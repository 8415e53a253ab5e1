"""Estimates from pairs of groups: products of two independent groups carry no noise energy, so they have no bias."""

import numpy as np
from jaxtyping import Float

from armillary.measures.errors.jackknife import FEWEST, standard_error


def pair_mean(kernel: Float[np.ndarray, "group group_"], sizes: Float[np.ndarray, " group"]) -> float:
    """Σ_{g≠h} kernel_gh / (C² − Σ n_g²), for a kernel of products of group sums; NaN with a single group."""
    pairs = sizes.sum() ** 2 - np.sum(sizes**2)
    return float((kernel.sum() - np.trace(kernel)) / pairs) if len(sizes) > 1 else float("nan")


def pair_means_without(
    kernel: Float[np.ndarray, "group group_"], sizes: Float[np.ndarray, " group"]
) -> Float[np.ndarray, " group"]:
    """The pair mean without each group in turn."""
    off = kernel - np.diag(np.diag(kernel))
    rest = sizes.sum() - sizes
    pairs = rest**2 - (np.sum(sizes**2) - sizes**2)
    return (off.sum() - off.sum(0) - off.sum(1)) / pairs


def pair_standard_error(kernel: Float[np.ndarray, "group group_"], sizes: Float[np.ndarray, " group"]) -> float:
    """Standard error of the pair mean over groups of documents; NaN with fewer than four groups.

    The jackknife counts the part of the variance that belongs to single groups once, but the part that belongs to
    pairs twice (Efron and Stein, 1981): with no effect there is nothing but pairs, and intervals would be √2 too wide.
    The second count is estimated from what rows and columns of the kernel do not explain, and subtracted; what is left
    is never less than the part of the pairs themselves.
    """
    if len(sizes) < FEWEST:
        return float("nan")
    own, counted = pair_variances(kernel, sizes)
    return float(np.sqrt(max(pair_jackknife_error(kernel, sizes) ** 2 - (counted - own), own)))


def pair_replicates(
    kernel: Float[np.ndarray, "group group_"], sizes: Float[np.ndarray, " group"], value: float, error: float
) -> Float[np.ndarray, " group"]:
    """An estimate without each group, from the kernel of its first-order changes; their jackknife error is `error`."""
    if len(sizes) < FEWEST:
        return np.full(len(sizes), np.nan)
    without = pair_means_without(kernel, sizes)
    plain = pair_jackknife_error(kernel, sizes)
    return value + (without - without.mean()) * (error / plain if plain > 0 else np.nan)


def pair_jackknife_error(kernel: Float[np.ndarray, "group group_"], sizes: Float[np.ndarray, " group"]) -> float:
    """The plain jackknife error of the pair mean, a little too wide.

    For ratios of pair means from few groups, where the second count is too uncertain to be subtracted.
    """
    return float(standard_error(pair_means_without(kernel, sizes))) if len(sizes) >= FEWEST else float("nan")


def pair_variances(
    kernel: Float[np.ndarray, "group group_"], sizes: Float[np.ndarray, " group"]
) -> tuple[float, float]:
    """The variance of the pair mean that belongs to pairs alone, and what the jackknife makes of it.

    For equal groups the second is 2(G − 1)/(G − 2) times the first; for others it is summed up pair by pair.
    """
    groups = len(sizes)
    each = kernel / np.outer(sizes, sizes)
    off = ~np.eye(groups, dtype=bool)
    rows = np.where(off, each, 0).sum(1) / (groups - 2)
    common = np.where(off, each, 0).sum() / ((groups - 1) * (groups - 2))
    left = np.where(off, each - rows[:, None] - rows[None, :] + common, 0) * np.outer(sizes, sizes)
    squares = 2 * left**2 * (groups - 1) / (groups - 3)
    pairs = sizes.sum() ** 2 - np.sum(sizes**2)
    # A pair enters the mean without any third group g with the weight 1 over the number of pairs that are left.
    weight = 1 / ((sizes.sum() - sizes) ** 2 - (np.sum(sizes**2) - sizes**2))
    total = weight.sum() - weight[:, None] - weight
    energy = np.sum(weight**2) - weight[:, None] ** 2 - weight**2
    counted = (groups - 1) / groups * (energy - total**2 / groups)
    return float(squares.sum() / pairs**2), float(np.sum(squares * counted))

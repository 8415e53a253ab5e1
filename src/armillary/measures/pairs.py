"""Estimates from pairs of groups: products of two independent groups carry no noise energy, so they have no bias."""

import numpy as np
from jaxtyping import Float

from armillary.measures.errors.jackknife import jackknifed


def pair_mean(kernel: Float[np.ndarray, "group group_"], sizes: Float[np.ndarray, " group"]) -> float:
    """Σ_{g≠h} kernel_gh / (C² − Σ n_g²), for a kernel of products of group sums."""
    return float((kernel.sum() - np.trace(kernel)) / (sizes.sum() ** 2 - np.sum(sizes**2)))


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
    The second count is estimated from what rows and columns of the kernel do not explain, and subtracted (the jackknife
    of a mean over pairs alone is 2(G − 1)/(G − 2) times its variance, so a little more than one is too many).
    """
    groups = len(sizes)
    if groups < 4:
        return float("nan")
    single = pair_jackknife_error(kernel, sizes) ** 2
    excess = pair_variance(kernel, sizes) * groups / (groups - 2)
    return float(np.sqrt(max(single - excess, excess / 2)))


def pair_jackknife_error(kernel: Float[np.ndarray, "group group_"], sizes: Float[np.ndarray, " group"]) -> float:
    """The plain jackknife error of the pair mean, a little too wide; NaN with fewer than three groups.

    For ratios of pair means from few groups, where the second count is too uncertain to be subtracted.
    """
    if len(sizes) < 3:
        return float("nan")
    return float(jackknifed(pair_mean(kernel, sizes), pair_means_without(kernel, sizes), sizes).standard_error)


def pair_variance(kernel: Float[np.ndarray, "group group_"], sizes: Float[np.ndarray, " group"]) -> float:
    """The variance of the pair mean that belongs to pairs alone."""
    groups = len(sizes)
    each = kernel / np.outer(sizes, sizes)
    off = ~np.eye(groups, dtype=bool)
    rows = np.where(off, each, 0).sum(1) / (groups - 2)
    common = np.where(off, each, 0).sum() / ((groups - 1) * (groups - 2))
    left = np.where(off, each - rows[:, None] - rows[None, :] + common, 0)
    freedom = (groups - 1) / (groups - 3)
    pairs = sizes.sum() ** 2 - np.sum(sizes**2)
    return float(2 * np.sum((left * np.outer(sizes, sizes)) ** 2) * freedom / pairs**2)

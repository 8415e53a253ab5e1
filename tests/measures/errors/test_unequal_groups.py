"""Coverage where windows of a group depend on each other and groups are as unequal as real documents."""

import numpy as np
import pytest

from armillary.measures.errors.groups import group_mean
from armillary.measures.errors.jackknife import effective_groups, half_width, standard_error
from armillary.measures.pairs import pair_mean, pair_standard_error

GROUPS = {"unequal": (30, 12, 8, 5, 3, 3, 2, 1), "equal": (4,) * 16}
CORRELATED = 0.3
SURVEYS = 2000
EFFECT = 2.0


def group_means(rng, sizes, width=1):
    """Means of groups of windows that share a part of their variance, 0.3 of it within each group."""
    shared = np.sqrt(CORRELATED) * rng.normal(size=(SURVEYS, len(sizes), width))
    return shared + np.sqrt((1 - CORRELATED) / sizes)[:, None] * rng.normal(size=(SURVEYS, len(sizes), width))


def mean(values, sizes):
    found = group_mean(values, sizes.astype(int))
    return found.mean[0], found.se[0], 0.0


def ratio(values, sizes):
    """A ratio of two correlated means, as a share is."""
    above, below = 1 + 0.3 * values[:, 0], 2 + 0.3 * values[:, 0] + 0.3 * values[:, 1]
    without = [np.delete(sizes, g) @ np.delete(above, g) / (np.delete(sizes, g) @ np.delete(below, g))
               for g in range(len(sizes))]  # fmt: skip
    return sizes @ above / (sizes @ below), standard_error(np.array(without)), 0.5


def pairs(values, sizes):
    """The squared length of a mean vector, from products of different groups."""
    sums = sizes[:, None] * (values + EFFECT / np.sqrt(values.shape[1]))
    return pair_mean(sums @ sums.T, sizes), pair_standard_error(sums @ sums.T, sizes), EFFECT**2


@pytest.mark.parametrize("sizes", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize(("estimate", "width"), [(mean, 1), (ratio, 2), (pairs, 24)])
def test_intervals_cover_for_unequal_groups_of_dependent_windows(estimate, width, sizes):
    sizes = np.array(sizes, dtype=float)
    found = np.array([estimate(values, sizes) for values in group_means(np.random.default_rng(0), sizes, width)])
    margin = half_width(effective_groups(sizes)) * found[:, 1]
    assert 0.90 <= np.mean(np.abs(found[:, 0] - found[:, 2]) <= margin) <= 0.99


@pytest.mark.parametrize("sizes", GROUPS.values(), ids=GROUPS)
def test_the_error_is_as_large_as_the_scatter(sizes):
    sizes = np.array(sizes, dtype=float)
    found = np.array([mean(values, sizes) for values in group_means(np.random.default_rng(1), sizes)])
    assert 0.9 <= np.sqrt(np.mean(found[:, 1] ** 2)) / found[:, 0].std() <= 1.2

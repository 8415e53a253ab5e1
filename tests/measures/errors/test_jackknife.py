"""The delete-a-group jackknife against the classical one, a plain loop, and Student's t."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from armillary.measures.errors.jackknife import half_width, jackknifed, standard_error

seeds = st.integers(0, 2**32 - 1)


def means_without(values, sizes):
    """The mean of group means, weighted by size, without each group in turn."""
    return np.stack([np.average(np.delete(values, g, 0), 0, np.delete(sizes, g)) for g in range(len(sizes))])


@settings(max_examples=50, deadline=None)
@given(seeds, st.integers(2, 40))
def test_equal_groups_give_the_classical_error_of_a_mean(seed, n):
    values = np.random.default_rng(seed).normal(3, 2, n)
    sizes = np.full(n, 5.0)
    got = jackknifed(float(values.mean()), means_without(values, sizes), sizes)
    assert got.estimate == pytest.approx(values.mean())
    assert got.standard_error == pytest.approx(stats.sem(values))


@settings(max_examples=50, deadline=None)
@given(seeds, st.integers(2, 20))
def test_equal_groups_give_the_classical_error_of_any_estimate(seed, n):
    values = np.random.default_rng(seed).normal(3, 2, n)
    whole, without = values.std(), np.array([np.delete(values, g).std() for g in range(n)])
    got = jackknifed(float(whole), without, np.ones(n))
    assert got.estimate == pytest.approx(n * whole - (n - 1) * without.mean())
    assert got.standard_error**2 == pytest.approx((n - 1) / n * np.sum((without - without.mean()) ** 2))


@settings(max_examples=50, deadline=None)
@given(seeds, st.integers(2, 12))
def test_unequal_groups_follow_busings_formulas(seed, groups):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, groups).astype(float)
    whole, without = rng.normal(size=3), rng.normal(size=(groups, 3))
    n = sum(sizes)
    for value in range(3):
        # Busing, Meijer and van der Leeden (1999), equations 5 and 7, as they stand in the paper.
        estimate = groups * whole[value] - sum((1 - sizes[j] / n) * without[j, value] for j in range(groups))
        variance = 0.0
        for j in range(groups):
            h = n / sizes[j]
            pseudo = h * whole[value] - (h - 1) * without[j, value]
            others = sum((1 - sizes[k] / n) * without[k, value] for k in range(groups))
            variance += (pseudo - groups * whole[value] + others) ** 2 / (h - 1) / groups
        got = jackknifed(whole, without, sizes)
        assert got.estimate[value] == pytest.approx(estimate)
        assert got.standard_error[value] == pytest.approx(np.sqrt(variance))
        assert standard_error(whole, without, sizes)[value] == pytest.approx(np.sqrt(variance))


@settings(max_examples=30, deadline=None)
@given(seeds, st.floats(-50, 50), st.floats(0.01, 100))
def test_the_error_scales_with_the_estimate_and_ignores_its_offset(seed, offset, scale):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 6).astype(float)
    values = rng.normal(size=6)
    plain = standard_error(float(np.average(values, weights=sizes)), means_without(values, sizes), sizes)
    moved = values * scale + offset
    again = standard_error(float(np.average(moved, weights=sizes)), means_without(moved, sizes), sizes)
    assert again == pytest.approx(scale * plain, rel=1e-6)


def test_the_error_of_a_mean_over_unequal_groups_is_right_on_average():
    rng = np.random.default_rng(0)
    sizes = np.array([1.0, 2, 2, 3, 4, 4, 6, 8, 1, 5])
    means, variances = [], []
    for _ in range(4000):
        values = rng.normal(size=10) / np.sqrt(sizes)
        mean = float(np.average(values, weights=sizes))
        means.append(mean)
        variances.append(standard_error(mean, means_without(values, sizes), sizes) ** 2)
    assert np.var(means) == pytest.approx(1 / sizes.sum(), rel=0.1)
    assert np.mean(variances) == pytest.approx(1 / sizes.sum(), rel=0.1)


def test_a_single_group_says_nothing_about_its_spread():
    one = standard_error(np.ones((2, 3)), np.full((1, 2, 3), np.nan), np.array([7.0]))
    assert one.shape == (2, 3)
    assert np.isnan(one).all()
    assert np.isnan(standard_error(1.0, np.array([np.nan]), np.array([7.0])))
    assert np.isnan(half_width(1))


@pytest.mark.parametrize("groups", [2, 8, 16, 200])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_the_half_width_holds_the_level_of_students_t(groups, level):
    width = half_width(groups, level)
    assert stats.t.cdf(width, groups - 1) - stats.t.cdf(-width, groups - 1) == pytest.approx(level)


def test_the_half_width_of_sixteen_groups_is_that_of_the_tables():
    assert half_width(16) == pytest.approx(2.131, abs=5e-4)
    assert half_width(2) == pytest.approx(12.706, abs=5e-4)

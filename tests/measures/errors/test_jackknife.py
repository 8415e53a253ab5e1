"""The delete-a-group jackknife against scipy, and Student's t."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from armillary.measures.errors.jackknife import effective_groups, half_width, standard_error

seeds = st.integers(0, 2**32 - 1)


def means_without(values, sizes):
    """The mean of group means, weighted by size, without each group in turn."""
    return np.stack([np.average(np.delete(values, g, 0), 0, np.delete(sizes, g)) for g in range(len(sizes))])


@settings(max_examples=50, deadline=None)
@given(seeds, st.integers(4, 40))
def test_equal_groups_give_the_classical_error_of_a_mean(seed, n):
    values = np.random.default_rng(seed).normal(3, 2, n)
    assert standard_error(means_without(values, np.full(n, 5.0))) == pytest.approx(stats.sem(values))


@settings(max_examples=50, deadline=None)
@given(seeds, st.integers(4, 20))
def test_the_error_is_scipys_spread_of_the_values_without_each_group(seed, groups):
    without = np.random.default_rng(seed).normal(size=(groups, 2, 3))
    expected = stats.tstd(without, axis=0) * (groups - 1) / np.sqrt(groups)
    assert standard_error(without) == pytest.approx(expected)


@settings(max_examples=30, deadline=None)
@given(seeds, st.floats(-50, 50), st.floats(0.01, 100))
def test_the_error_scales_with_the_estimate_and_ignores_its_offset(seed, offset, scale):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 6).astype(float)
    values = rng.normal(size=6)
    plain = standard_error(means_without(values, sizes))
    again = standard_error(means_without(values * scale + offset, sizes))
    assert again == pytest.approx(scale * plain, rel=1e-6)


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_fewer_than_four_groups_say_nothing_about_their_spread(groups):
    few = standard_error(np.random.default_rng(0).normal(size=(groups, 2, 3)))
    assert few.shape == (2, 3)
    assert np.isnan(few).all()
    assert np.isnan(half_width(1))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_equal_groups_count_in_full_and_unequal_ones_as_fewer(sizes):
    effective = effective_groups(np.array(sizes, dtype=float))
    assert 1 - 1e-9 <= effective <= len(sizes) + 1e-9
    assert (effective == pytest.approx(len(sizes))) == (len(set(sizes)) == 1)
    assert effective == pytest.approx(effective_groups(np.array([*sizes, 0], dtype=float)))


def test_no_windows_are_no_groups():
    assert effective_groups(np.zeros(3)) == 0


@pytest.mark.parametrize("groups", [2, 8, 16, 200])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_the_half_width_holds_the_level_of_students_t(groups, level):
    width = half_width(groups, level)
    assert stats.t.cdf(width, groups - 1) - stats.t.cdf(-width, groups - 1) == pytest.approx(level)


def test_the_half_width_of_sixteen_groups_is_that_of_the_tables():
    assert half_width(16) == pytest.approx(2.131, abs=5e-4)
    assert half_width(2) == pytest.approx(12.706, abs=5e-4)

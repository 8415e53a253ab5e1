"""The sets behind the errors, against plain loops."""

import numpy as np
import pytest
from scipy import stats

from armillary.measures.errors.leave_out import debiased, jackknifed, leave_out


def test_the_first_set_keeps_everything_and_each_other_set_lacks_one_group():
    kept = leave_out(np.array([3, 1, 3, 3, 0]), 4)
    assert kept[0].all()
    np.testing.assert_array_equal(kept[1:], [[1, 1, 1, 1, 0], [1, 0, 1, 1, 1], [1, 1, 1, 1, 1], [0, 1, 0, 0, 1]])


def test_the_error_is_the_jackknifes_of_the_estimate_recomputed_without_each_group():
    rng = np.random.default_rng(0)
    group, values = rng.integers(0, 5, size=30), rng.standard_normal(30)
    found = jackknifed(np.array([np.median(values[keep]) for keep in leave_out(group, 5)]))
    without = [np.median([v for v, g in zip(values, group, strict=True) if g != name]) for name in range(5)]
    assert found.value == np.median(values)
    assert found.without.tolist() == without
    assert found.se == pytest.approx(stats.sem(without) * 4)


def test_one_group_has_no_error():
    assert leave_out(np.zeros(4, dtype=int), 1).shape == (2, 4)
    assert np.isnan(jackknifed(np.array([1.0, np.nan])).se)


def test_the_debiased_estimate_has_no_bias_of_order_1_over_g():
    rng = np.random.default_rng(1)
    draws = rng.standard_normal((4000, 8))
    squares = [np.stack([part.mean() ** 2 for part in (row, *(np.delete(row, g) for g in range(8)))]) for row in draws]
    found = [debiased(sets) for sets in squares]
    assert np.mean([one.value for one in found]) == pytest.approx(0, abs=4 * 0.18 / np.sqrt(4000))
    assert np.mean([sets[0] for sets in squares]) == pytest.approx(1 / 8, rel=0.1)
    assert np.isnan(debiased(np.ones((3, 2))).value).all()


def test_the_range_of_a_mean_is_that_of_the_means_without_one_group():
    each = np.random.default_rng(4).normal(size=8)
    without = (each.sum() - each) / 7
    found = debiased(np.array([each.mean(), *without]))
    assert (found.value, found.low, found.high) == pytest.approx((each.mean(), without.min(), without.max()))

"""Verdicts over depth against scipy's own correlation, interval and p-value."""

import numpy as np
import pytest
from scipy import stats

from armillary.measures.stores.depth import legible, rising, specific_heads, unreadable


def test_a_block_is_unreadable_where_the_interval_lies_below_5_percent():
    assert unreadable(np.arange(400) < 4).verdict == "holds"
    assert unreadable(np.arange(400) < 100).verdict == "does not hold"
    assert unreadable(np.arange(40) < 2).verdict == "not determined"
    assert unreadable(np.zeros(0, dtype=bool)).verdict == "not determined"
    verdicts = [legible(np.arange(size) < found).verdict for size, found in ((400, 4), (400, 100), (40, 2))]
    assert verdicts == ["does not hold", "holds", "not determined"]


@pytest.mark.parametrize(("found", "count"), [(0, 50), (3, 50), (50, 50)])
def test_the_interval_is_scipys(found, count):
    share = unreadable(np.arange(count) < found)
    expected = stats.binomtest(found, count).proportion_ci(0.95, method="exact")
    assert (share.low, share.high) == pytest.approx((expected.low, expected.high))
    assert share.share == found / count


@pytest.mark.parametrize("count", [6, 30])
def test_correlation_and_p_value_are_scipys(count):
    values = np.random.default_rng(1).standard_normal(count) + 0.05 * np.arange(count)
    found, expected = rising(values), stats.spearmanr(np.arange(count), values)
    assert found.correlation == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue, abs=0.05 if count == 6 else 0.01)
    assert (found.first, found.last) == (values[0], values[-1])


def test_values_that_rise_hold_that_fall_do_not_and_others_are_not_determined():
    assert rising(np.arange(12.0)).verdict == "holds"
    assert rising(-np.arange(12.0)).verdict == "does not hold"
    assert rising(np.array([3.0, 1, 4, 2, 5, 1.5, 2.5])).verdict == "not determined"
    assert rising(np.arange(6.0)).p == pytest.approx(2 / 720)


@pytest.mark.parametrize("values", [[1.0, 2, 3], [np.nan] * 5, [2.0] * 6, []])
def test_too_few_or_equal_values_have_no_trend(values):
    found = rising(np.array(values))
    assert found.verdict == "not determined"
    assert np.isnan(found.p)


def test_one_head_beyond_the_joint_level_is_enough():
    assert specific_heads(np.array([0.1, 3.5, -9.0])) == ("holds", 1, 3, 3.5)
    assert specific_heads(np.array([1.0, 1.5])).verdict == "does not hold"
    assert specific_heads(np.full(3, np.nan)).verdict == "not determined"

"""Shares of cases: scipy's own exact interval, and a verdict only where it lies on one side of the bound."""

import numpy as np
import pytest
from scipy import stats

from armillary.measures.errors.shares import share_above, share_below, share_interval


@pytest.mark.parametrize(("found", "count"), [(0, 7), (3, 50), (50, 50)])
def test_the_interval_is_scipys_exact_one(found, count):
    share = share_below(np.arange(count) < found, 0.5)
    expected = stats.binomtest(found, count).proportion_ci(0.95, method="exact")
    assert share[1:] == pytest.approx((found / count, expected.low, expected.high))


@pytest.mark.parametrize(("found", "verdict"), [(2, "holds"), (10, "not determined"), (18, "does not hold")])
def test_a_verdict_needs_an_interval_on_one_side(found, verdict):
    cases = np.arange(20) < found
    assert share_below(cases, 0.5).verdict == verdict
    opposite = {"holds": "does not hold", "does not hold": "holds"}
    assert share_above(cases, 0.5) == share_below(cases, 0.5)._replace(verdict=opposite.get(verdict, verdict))


def test_without_cases_nothing_is_determined():
    found = share_above(np.zeros(0, dtype=bool), 0.5)
    assert found.verdict == "not determined"
    assert np.isnan(found.share)


def test_no_case_has_no_interval():
    assert str(share_interval(0, 0)) == "(nan, nan)"

"""The interval of a share: scipy's own, and at its ends."""

import pytest
from scipy import stats

from armillary.measures.errors.shares import share_interval


@pytest.mark.parametrize(("found", "count"), [(0, 20), (7, 20), (20, 20), (1, 3)])
def test_the_interval_is_scipys_exact_one(found, count):
    expected = stats.binomtest(found, count).proportion_ci(0.95, method="exact")
    assert share_interval(found, count) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_no_case_has_no_interval():
    assert str(share_interval(0, 0)) == "(nan, nan)"

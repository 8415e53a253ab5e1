"""The sets behind the errors, against plain loops."""

import numpy as np
import pytest

from armillary.measures.errors.jackknife import jackknifed
from armillary.measures.errors.leave_out import error_over_groups, leave_out


def test_the_first_set_keeps_everything_and_each_other_set_lacks_one_group():
    kept, sizes = leave_out(np.array([7, 2, 7, 7, 5]))
    assert kept[0].all()
    np.testing.assert_array_equal(kept[1:], [[1, 0, 1, 1, 1], [1, 1, 1, 1, 0], [0, 1, 0, 0, 1]])
    np.testing.assert_array_equal(sizes, [1, 1, 3])


def test_the_error_is_the_jackknifes_of_the_estimate_recomputed_without_each_group():
    rng = np.random.default_rng(0)
    group, values = rng.integers(0, 5, size=30), rng.standard_normal(30)
    kept, sizes = leave_out(group)
    medians = np.array([np.median(values[keep]) for keep in kept])
    without = np.array([np.median([v for v, g in zip(values, group, strict=True) if g != name]) for name in range(5)])
    expected = jackknifed(float(np.median(values)), without, np.bincount(group).astype(float)).standard_error
    assert error_over_groups(medians, sizes) == pytest.approx(float(expected))


def test_one_group_has_no_error():
    kept, sizes = leave_out(np.zeros(4, dtype=int))
    assert kept.shape == (2, 4)
    assert np.isnan(error_over_groups(np.array([1.0, np.nan]), sizes))

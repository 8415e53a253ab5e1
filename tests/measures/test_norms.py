"""Mean norms against plain loops and the classical jackknife."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from armillary.measures.norms import norm


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 8))
def test_the_norm_is_that_of_a_plain_loop_over_tokens(seed, groups):
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), rng.integers(1, 5, groups))
    norms = rng.uniform(1, 9, (len(group), 6))
    tables = np.array([norms[group == g].mean(0) for g in range(groups)])
    got = norm(tables, group)
    assert got.norm == pytest.approx(sum(norms[c, t] for c in range(len(group)) for t in range(6)) / norms.size)

    without = [norms[group != g].mean() for g in range(groups)]
    assert got.norm_without == pytest.approx(without)
    assert got.norm_se == pytest.approx(stats.sem(without) * (groups - 1))


def test_equal_groups_give_the_classical_error_of_a_mean():
    tables = np.random.default_rng(0).uniform(1, 9, (12, 5))
    got = norm(tables, np.repeat(np.arange(12), 3))
    assert got.norm_se == pytest.approx(stats.sem(tables.mean(1)))


def test_a_position_without_tokens_in_a_group_is_left_out():
    tables = np.array([[2.0, np.nan], [4.0, 6.0]])
    assert norm(tables, np.array([0, 1])).norm == pytest.approx((2 + 5) / 2)


def test_one_group_has_a_norm_and_no_error():
    got = norm(np.array([[2.0, 4.0]]), np.zeros(5, np.int64))
    assert got.norm == 3
    assert np.isnan(got.norm_se)

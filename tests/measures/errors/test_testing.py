"""p-values against scipy's t test; discoveries against the rule as it is published, and by simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from armillary.measures.errors.testing import discoveries, p_values, sign_test


def test_p_values_are_those_of_scipys_t_test():
    values = np.random.default_rng(0).normal(0.3, 1, (5, 12))
    expected = stats.ttest_1samp(values, 0, axis=1).pvalue
    assert p_values(values.mean(1), stats.sem(values, axis=1), 12) == pytest.approx(expected)


def test_what_has_no_error_has_no_p_value():
    found = p_values(np.array([1.0, np.nan, 1.0, 0.0, 2.0]), np.array([np.nan, 1.0, 0.0, 0.0, 1.0]), 8)
    assert np.isnan(found[:2]).all()
    assert found[2:4].tolist() == [0, 1]
    assert np.isnan(p_values(np.ones(2), np.ones(2), 1.9)).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.sampled_from([0.01, 0.05, 0.2]))
def test_discoveries_are_all_up_to_the_last_that_lies_under_the_line(p, rate):
    ordered = sorted(p)
    last = max((rank for rank, value in enumerate(ordered, 1) if value <= rate * rank / len(p)), default=0)
    found = discoveries(np.array(p), rate)
    assert found.sum() >= last
    assert set(np.array(p)[found]) == set(ordered[:last])


def test_of_what_is_called_significant_at_most_one_in_twenty_is_false():
    rng = np.random.default_rng(1)
    shares = []
    for _ in range(400):
        values = rng.normal(size=60) + np.where(np.arange(60) < 15, 3.5, 0)
        found = discoveries(2 * stats.norm.sf(np.abs(values)), 0.05)
        shares.append(found[15:].sum() / max(found.sum(), 1))
    assert np.mean(shares) < 0.05


def test_values_without_a_p_value_are_no_discoveries():
    assert discoveries(np.array([[np.nan, 1e-9], [0.9, np.nan]]), 0.05).tolist() == [[False, True], [False, False]]
    assert not discoveries(np.full(3, np.nan), 0.05).any()


def test_the_sign_test_is_scipys_binomial_test():
    differences = np.random.default_rng(2).normal(0.4, 1, (6, 16))
    expected = [stats.binomtest(int((row > 0).sum()), 16).pvalue for row in differences]
    assert sign_test(differences) == pytest.approx(np.array(expected))
    assert sign_test(np.array([[0.0, 0, 1, -1], [0, 0, 0, 0]])).tolist() == [1, 1]

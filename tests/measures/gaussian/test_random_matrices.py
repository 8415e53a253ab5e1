"""Lengths, singular values and traces of random matrices, against scipy and simulation."""

import numpy as np
import pytest
from scipy import integrate, stats

from armillary.measures.gaussian import random_matrices as law


def test_the_mean_length_is_that_of_a_chi_law():
    assert law.mean_length(64, 0.3) == pytest.approx(stats.chi(64, scale=0.3).mean())


def test_the_mean_singular_value_is_that_of_the_quarter_circle():
    mean = integrate.quad(lambda x: x * np.sqrt(4 - x**2) / np.pi, 0, 2)[0]
    assert law.mean_singular_value(100, 0.1) == pytest.approx(mean)


def test_edges_and_traces_are_near_those_of_large_matrices():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, 300, 300)) / np.sqrt(300)
    assert np.linalg.norm(A, 2) ** 2 == pytest.approx(law.largest_square(300, 1 / np.sqrt(300)), rel=0.06)
    assert law.largest_singular_value(300, 300, 1 / np.sqrt(300)) == pytest.approx(2.0)
    assert np.linalg.norm(A.T @ B, 2) == pytest.approx(law.product_edge(), rel=0.05)
    assert np.linalg.norm(B @ A.T, "nuc") == pytest.approx(law.largest_trace(300, 1 / np.sqrt(300)), rel=0.01)
    a, b = (np.linalg.svd(each, compute_uv=False) for each in (A, B))
    assert a.sum() * b.sum() / 300 == pytest.approx(law.matched_trace(300, 1 / np.sqrt(300)), rel=0.01)


def test_scores_of_a_random_form_have_the_expected_excess():
    squares = np.linalg.svd(np.random.default_rng(1).standard_normal((200, 200)), compute_uv=False) ** 2
    assert 6 * np.sum(squares**2) / squares.sum() ** 2 == pytest.approx(law.expected_excess(200), rel=0.05)

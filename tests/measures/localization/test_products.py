"""Moments of quadratic forms and of scores along walks, against simulation and small cases by hand."""

import numpy as np
import pytest

from armillary.measures.localization.products import (
    mean_score_share,
    quadratic_moments,
    score_products,
    score_products_published,
)
from armillary.measures.localization.simulation import walk_scores


def test_a_number_has_the_moments_of_a_shifted_square():
    found = quadratic_moments(np.array([[2.0]]), np.array([[1.0]]), np.array([3.0]), np.array([1.0]))
    assert found.form == pytest.approx(2 * (1 + 9))
    assert found.outer[0, 0] == 10
    assert found.mixed == pytest.approx(4 * (27 + 9))  # E x³ = 27 + 3·3
    assert found.square == pytest.approx(4 * (81 + 6 * 9 + 3))  # E x⁴


def test_products_of_scores_are_those_of_simulated_walks():
    spectrum, rng = np.array([0.8, -0.3, 0.5]), np.random.default_rng(0)
    scores = walk_scores(np.diag(spectrum), np.eye(3), 200_000, 6, rng)
    values = scores[:, 1] * scores[:, 3]
    found = score_products(float(spectrum.sum()), float(np.sum(spectrum**2)), 2, 4, 6)
    assert abs(values.mean() - found.scores) < 5 * values.std() / np.sqrt(len(values))


def test_published_products_have_the_same_leading_order():
    exact, printed = (made(0.7, 0.3, 40_000, 70_000, 100_000) for made in (score_products, score_products_published))
    assert np.array(printed) == pytest.approx(np.array(exact), rel=1e-3)


def test_the_mean_score_is_as_large_as_a_single_one():
    scores = walk_scores(np.eye(8), np.eye(8), 40_000, 20, np.random.default_rng(1))
    measured = np.sqrt(np.mean(scores.mean(axis=1) ** 2) / np.mean(scores[:, 9] ** 2))
    assert mean_score_share(8.0, 8.0, 10, 20) == pytest.approx(measured, rel=0.01)

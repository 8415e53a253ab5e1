"""The piecewise linear approximation of figure 1 against its parts and its small-score law."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from scipy.spatial import distance

from armillary.measures.localization.softmax import (
    entropy,
    piecewise_distance,
    piecewise_softmax,
    shares_divergence,
    softmax,
    tangent,
)

SCORES = np.random.default_rng(0).standard_normal((2000, 40))


def test_softmax_and_entropy_are_scipys_and_large_scores_do_not_overflow():
    np.testing.assert_allclose(softmax(SCORES), special.softmax(SCORES, axis=1))
    np.testing.assert_allclose(entropy(softmax(SCORES)), stats.entropy(softmax(SCORES), axis=1))
    np.testing.assert_array_equal(softmax(np.array([1e4, 0.0])), [1, 0])
    assert entropy(np.array([1.0, 0.0])) == 0


@given(st.integers(0, 1000))
def test_the_tangent_touches_the_softmax_at_0_and_adds_up_to_1(seed):
    direction = np.random.default_rng(seed).standard_normal(7)
    assert tangent(direction).sum() == pytest.approx(1)
    np.testing.assert_allclose(tangent(1e-6 * direction), softmax(1e-6 * direction), atol=1e-11)


def test_clipping_adds_mass():
    assert (piecewise_softmax(4 * SCORES).sum(axis=1) > 1).all()
    assert piecewise_softmax(4 * SCORES).max() <= 1
    assert piecewise_softmax(4 * SCORES).min() == 0
    assert piecewise_distance(8 * SCORES).mean() > 1


@pytest.mark.parametrize("scale", [0.02, 0.05])
def test_for_small_scores_the_distance_is_the_second_order_of_the_softmax(scale):
    # Second order at 0: (z² − 1) s²/2T in every key, so the distance is s²/4 · E|z² − 1|, and E|z² − 1| = 4φ(1).
    scores = scale * np.random.default_rng(1).standard_normal((200, 2000))
    expected = scale**2 * stats.norm.pdf(1)
    assert piecewise_distance(scores).mean() == pytest.approx(expected, rel=0.03)


def test_figure_1_two_keys_are_a_line_between_minus_1_and_1():
    gap = np.linspace(-3, 3, 13)
    scores = np.stack([gap, 0 * gap], axis=1)
    np.testing.assert_allclose(piecewise_softmax(scores)[:, 0], np.clip(0.5 + gap / 4, 0, 1))
    np.testing.assert_allclose(softmax(scores)[:, 0], special.expit(gap))


def test_the_divergence_of_two_distributions_is_scipys_and_its_root_a_metric():
    p, q = softmax(np.random.default_rng(0).standard_normal((2, 4, 6)))
    expected = [distance.jensenshannon(one, other) ** 2 for one, other in zip(p, q, strict=True)]
    assert shares_divergence(p, q) == pytest.approx(expected)

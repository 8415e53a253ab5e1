"""What maps keep against the closed form, and fixed weights against real ones."""

import numpy as np
import pytest

from armillary.measures.gaussian.distance import PairScatter, pair_scatter
from armillary.measures.gaussian.heads import kept_at_random, kept_share, mixing_gap
from armillary.measures.gaussian.joint import kept_information
from armillary.measures.localization.softmax import softmax

RNG = np.random.default_rng(0)
GROUP = np.repeat(np.arange(16), 4)
ROOT = RNG.standard_normal((6, 8))
PAIRS = PairScatter(np.stack([ROOT @ ROOT.T] * 17), np.full(17, 1e9))


def test_an_invertible_map_keeps_everything_and_a_low_rank_one_what_the_closed_form_says():
    first, second = RNG.standard_normal((2, 3, 3))
    assert kept_share(PAIRS, first, second) == pytest.approx(1)
    closed = kept_information(ROOT @ ROOT.T, 3, first[:2], second[:1])
    assert kept_share(PAIRS, first[:2], second[:1]) == pytest.approx(closed.after / closed.before, rel=1e-4)
    assert kept_share(PAIRS, first[:1], second[:1]) < kept_share(PAIRS, first[:2], second[:2]) < 1


def test_random_maps_keep_more_the_more_rank_they_have():
    assert kept_at_random(PAIRS, 1) < kept_at_random(PAIRS, 2) < kept_at_random(PAIRS, 3)
    assert kept_at_random(PAIRS, 3) == pytest.approx(1)


def test_weights_that_are_fixed_leave_no_gap_and_those_of_the_tokens_do():
    values = RNG.standard_normal((64, 20, 3)) * [3, 1, 1]
    kept = np.ones((64, 20), dtype=bool)
    fixed = softmax(RNG.standard_normal((20, 20)))
    same = fixed @ values
    assert mixing_gap(same, same, kept, GROUP).entropy_gap == pytest.approx(0, abs=1e-9)
    own = softmax(values @ values.swapaxes(1, 2))
    gap = mixing_gap(own @ values, own.mean(0) @ values, kept, GROUP)
    assert gap.entropy_gap < -10 * gap.entropy_gap_se < 0
    assert gap.entropy_fixed - gap.entropy == pytest.approx(gap.entropy_gap, rel=1e-6)
    assert gap.information_fixed - gap.information == pytest.approx(gap.information_gap, rel=1e-6)


def test_the_fixed_covariance_is_the_formulas():
    states = RNG.standard_normal((64, 6, 2))
    pattern = softmax(RNG.standard_normal((6, 6)))
    mixed = pattern @ states
    pairs = pair_scatter(mixed, mixed, np.ones((64, 6), bool), GROUP, 0)
    blocks = np.cov(states.reshape(64, 12).T).reshape(6, 2, 6, 2)
    expected = np.mean([np.einsum("i,j,iajb->ab", row, row, blocks) for row in pattern], axis=0)
    np.testing.assert_allclose(pairs.covariance[0, :2, :2], expected)

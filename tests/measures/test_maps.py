"""What one map shows, against scipy and hand-made maps."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from armillary.measures.maps import angle_correlation, head_mean, row_entropy, shot_mass, strongest_pairs


def causal_map(seed, length=8):
    pattern = np.tril(np.random.default_rng(seed).random((length, length)))
    return pattern / pattern.sum(1, keepdims=True)


def test_entropy_is_scipys():
    pattern = causal_map(0)
    assert np.allclose(row_entropy(pattern), scipy.stats.entropy(pattern, axis=1))
    assert row_entropy(np.eye(3)).tolist() == [0, 0, 0]


@given(st.integers(0, 1000))
def test_a_weighted_mean_over_heads_keeps_rows_of_one(seed):
    draw = np.random.default_rng(seed)
    maps, weight = np.stack([causal_map(seed + h) for h in range(3)]), draw.random((3, 8))
    weight[:, 2] = 0
    mean = head_mean(maps, weight)
    assert np.allclose(mean.sum(1), 1)
    assert np.allclose(mean[2], maps[:, 2].mean(0))
    assert np.allclose(mean[5], np.average(maps[:, 5], axis=0, weights=weight[:, 5]))


def test_the_strongest_pairs_are_of_different_tokens_and_not_the_first():
    pattern = np.diag(np.full(5, 0.2))
    pattern[:, 0] += 0.5
    pattern[3, 2], pattern[4, 1] = 0.3, 0.25
    found = strongest_pairs(pattern, 3)
    assert found.query.tolist() == [3, 4]
    assert found.key.tolist() == [2, 1]
    assert found.mass == pytest.approx([0.3, 0.25])


def test_attention_made_of_angles_correlates_with_them_and_other_attention_does_not():
    draw = np.random.default_rng(0)
    states = draw.standard_normal((40, 6))
    unit = states / np.linalg.norm(states, axis=1, keepdims=True)
    allowed = np.tri(40, dtype=bool)
    made = np.where(allowed, np.exp(0.1 * unit @ unit.T), 0)
    made /= made.sum(1, keepdims=True)
    other = np.where(allowed, draw.random((40, 40)), 0)
    other /= other.sum(1, keepdims=True)
    # Rows are of unequal sizes, so even attention made of angles alone is not quite their line.
    assert angle_correlation(states, made, allowed) > 0.75
    assert abs(angle_correlation(states, other, allowed)) < 0.12
    assert np.isnan(angle_correlation(states, allowed / allowed.sum(1, keepdims=True), allowed))


def test_with_one_query_the_correlation_is_pearsons_over_its_keys():
    draw = np.random.default_rng(1)
    states, pattern = draw.standard_normal((12, 5)), draw.dirichlet(np.ones(12), 12)
    allowed = np.zeros((12, 12), dtype=bool)
    allowed[7] = True
    keys = [k for k in range(1, 12) if k != 7]
    unit = states / np.linalg.norm(states, axis=1, keepdims=True)
    expected = scipy.stats.pearsonr(unit[keys] @ unit[7], pattern[7, keys]).statistic
    assert angle_correlation(states, pattern, allowed) == pytest.approx(expected)


def test_a_length_does_not_change_an_angle():
    draw = np.random.default_rng(2)
    states, pattern = draw.standard_normal((9, 4)), draw.dirichlet(np.ones(9), 9)
    everything = np.ones((9, 9), dtype=bool)
    longer = states * draw.uniform(1, 5, (9, 1))
    assert angle_correlation(longer, pattern, everything) == pytest.approx(
        angle_correlation(states, pattern, everything)
    )


@given(st.integers(0, 1000))
def test_where_examples_look_adds_up_to_one(seed):
    shot = np.random.default_rng(seed).integers(-1, 3, 8)
    shot[0] = 0
    assert sum(shot_mass(causal_map(seed), shot)) == pytest.approx(1)


def test_where_examples_look_is_counted_as_by_hand():
    shot = np.array([-1, 0, 0, 1, 1])
    pattern = np.array(
        [[1, 0, 0, 0, 0], [0.4, 0.6, 0, 0, 0], [0.1, 0.2, 0.7, 0, 0], [0.5, 0.2, 0.1, 0.2, 0], [0, 0.3, 0.3, 0.3, 0.1]]
    )
    found = shot_mass(pattern, shot)
    assert found.diagonal == pytest.approx((0.6 + 0.7 + 0.2 + 0.1) / 4)
    assert found.within == pytest.approx((0.2 + 0.3) / 4)
    assert found.across == pytest.approx((0.3 + 0.6) / 4)
    assert found.outside == pytest.approx((0.4 + 0.1 + 0.5) / 4)
    assert np.isnan(shot_mass(pattern, np.full(5, -1))).all()

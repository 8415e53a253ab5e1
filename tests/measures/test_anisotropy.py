from itertools import combinations

import numpy as np
import pytest

from armillary.measures.anisotropy import anisotropy, anisotropy_share, outlier_dimensions


def mean_cosine(states):
    return np.mean([a @ b / np.sqrt((a @ a) * (b @ b)) for a, b in combinations(states, 2)])


def test_anisotropy_is_the_mean_cosine_over_pairs_before_and_after_centring():
    states = np.random.default_rng(0).standard_normal((20, 7)) + 1.5
    result = anisotropy(states)
    assert result.anisotropy == pytest.approx(mean_cosine(states))
    assert result.anisotropy_centred == pytest.approx(mean_cosine(states - states.mean(axis=0)))
    assert anisotropy(states.astype(np.float32)).anisotropy == pytest.approx(result.anisotropy, abs=1e-6)


def test_centred_isotropic_states_have_a_mean_cosine_near_minus_one_over_n_minus_one():
    states = np.random.default_rng(1).standard_normal((50, 400))
    assert anisotropy(states).anisotropy_centred == pytest.approx(-1 / 49, rel=0.01)


def test_the_dimensions_shares_sum_to_the_anisotropy_and_a_rogue_dimension_carries_it():
    states = np.random.default_rng(2).standard_normal((30, 40))
    states[:, 17] += 30
    share = anisotropy_share(states)
    pairs = [a / np.linalg.norm(a) * b / np.linalg.norm(b) for a, b in combinations(states, 2)]
    np.testing.assert_allclose(share, np.mean(pairs, axis=0), atol=1e-14)
    assert share.sum() == pytest.approx(anisotropy(states).anisotropy)
    assert share.argmax() == 17
    assert share[17] > 0.9 * share.sum()


def test_one_state_or_a_zero_state_has_no_anisotropy():
    assert np.isnan(anisotropy(np.ones((1, 4))).anisotropy)
    states = np.eye(4)
    states[0] = 0
    assert np.isnan(anisotropy(states).anisotropy)


def test_a_dimension_is_an_outlier_above_five_times_the_average_variance():
    variance = np.ones(100, dtype=np.float32)
    variance[[3, 70]] = 6.0, 5.0
    result = outlier_dimensions(variance)
    mean = (98 + 11) / 100
    assert 5.0 < 5 * mean < 6.0
    np.testing.assert_array_equal(np.flatnonzero(result.outlier), [3])
    assert result.outlier_share == pytest.approx(6 / 109)
    assert result.variance_share.sum() == pytest.approx(1)


def test_isotropic_states_have_no_outlier_dimension_and_constant_states_no_shares():
    assert not outlier_dimensions(np.random.default_rng(3).standard_normal((512, 576)).var(axis=0)).outlier.any()
    constant = outlier_dimensions(np.zeros(5))
    assert np.isnan(constant.variance_share).all()
    assert np.isnan(constant.outlier_share)
    assert not constant.outlier.any()

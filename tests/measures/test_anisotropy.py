"""Anisotropy against the mean over all pairs; outlier dimensions against their definition."""

from itertools import combinations

import numpy as np
import pytest
from fields import alike, all_nan

from armillary.measures.anisotropy import anisotropy, anisotropy_share, outlier_dimensions
from armillary.measures.errors.jackknife import standard_error


def mean_cosine(states):
    return np.mean([a @ b / np.sqrt((a @ a) * (b @ b)) for a, b in combinations(states, 2)])


def centred_cosine(states):
    return mean_cosine(states - states.mean(axis=0))


def of(states, **options):
    """A window and a group of its own for every state, none massive."""
    each = np.arange(len(states))
    given = {"context": each, "group": each, "massive": np.zeros(len(states), dtype=bool), "holes": 0}
    return anisotropy(states, **given | options)


def test_anisotropy_is_the_mean_cosine_over_pairs_before_and_after_centring():
    states = np.random.default_rng(0).standard_normal((20, 7)) + 1.5
    result = of(states)
    assert result.anisotropy == pytest.approx(mean_cosine(states))
    assert result.anisotropy_centred == pytest.approx(centred_cosine(states))
    assert of(states.astype(np.float32)).anisotropy == pytest.approx(result.anisotropy, abs=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_errors_are_the_jackknifes_of_cosines_recomputed_and_centred_anew_without_each_group(dtype):
    rng = np.random.default_rng(1)
    states = (rng.standard_normal((30, 6)) + np.linspace(0, 2, 6)).astype(dtype)
    context, group = rng.integers(0, 12, size=30), np.arange(12) // 3
    result = of(states, context=context, group=group)
    own = group[context]
    for estimate, error in ((mean_cosine, result.anisotropy_se), (centred_cosine, result.anisotropy_centred_se)):
        without = np.array([estimate(states[own != name].astype(float)) for name in range(4)])
        expected = standard_error(without)
        assert error == pytest.approx(float(expected), rel=1e-3 if dtype is np.float32 else 1e-9)


def test_massive_tokens_stay_out_where_the_run_left_them_out_and_count_where_it_kept_them():
    states = np.random.default_rng(2).standard_normal((12, 5))
    states[4] *= 1000
    massive = np.arange(12) == 4
    left = {"context": np.delete(np.arange(12), 4), "group": np.arange(12)}
    alike(of(states, massive=massive, holes=3), of(np.delete(states, 4, axis=0), **left))
    alike(of(states, massive=massive, holes=0), of(states))
    assert of(states).anisotropy_centred != pytest.approx(of(np.delete(states, 4, axis=0)).anisotropy_centred)


def test_centred_isotropic_states_have_a_mean_cosine_near_minus_one_over_n_minus_one():
    states = np.random.default_rng(1).standard_normal((50, 400))
    assert of(states).anisotropy_centred == pytest.approx(-1 / 49, rel=0.01)


def test_the_dimensions_shares_sum_to_the_anisotropy_and_a_rogue_dimension_carries_it():
    states = np.random.default_rng(2).standard_normal((30, 40))
    states[:, 17] += 30
    share = anisotropy_share(states)
    pairs = [a / np.linalg.norm(a) * b / np.linalg.norm(b) for a, b in combinations(states, 2)]
    np.testing.assert_allclose(share, np.mean(pairs, axis=0), atol=1e-14)
    assert share.sum() == pytest.approx(of(states).anisotropy)
    assert share.argmax() == 17
    assert share[17] > 0.9 * share.sum()


def test_one_state_or_a_zero_state_has_no_anisotropy():
    assert all_nan(of(np.ones((1, 4))))
    assert all_nan(of(np.ones((3, 4)), massive=np.array([True, True, True]), holes=3))
    states = np.eye(4)
    states[0] = 0
    assert np.isnan(of(states).anisotropy)
    assert np.isnan(of(np.eye(4), group=np.zeros(4, dtype=int)).anisotropy_se)


def test_a_dimension_is_an_outlier_above_five_times_the_average_variance():
    variance = np.ones(100, dtype=np.float32)
    variance[[3, 70]] = 6.0, 5.0
    result = outlier_dimensions(np.diag(variance))
    mean = (98 + 11) / 100
    assert 5.0 < 5 * mean < 6.0
    assert result.outlier_dimension_count == 1
    assert result.outlier_dimension_share == pytest.approx(6 / 109)
    np.testing.assert_array_equal(result.dimension_index, [3, 70, 0, 1, 2, 4, 5, 6])
    np.testing.assert_allclose(result.dimension_share, np.array([6, 5, 1, 1, 1, 1, 1, 1]) / 109)


def test_isotropic_states_have_no_outlier_dimension_and_constant_states_no_shares():
    isotropic = np.random.default_rng(3).standard_normal((512, 576)).var(axis=0)
    assert outlier_dimensions(np.diag(isotropic)).outlier_dimension_count == 0
    assert outlier_dimensions(np.diag(isotropic)).outlier_dimension_share == 0
    constant = outlier_dimensions(np.zeros((5, 5)))
    assert np.isnan(constant.dimension_share).all()
    assert np.isnan(constant.outlier_dimension_share)
    assert constant.outlier_dimension_count == 0
    assert len(constant.dimension_index) == 5

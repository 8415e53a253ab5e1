"""Printed formulas say what they print, and what stands beside them is right."""

import numpy as np
import pytest

from armillary.measures.gaussian import published


def test_the_volume_is_the_inverse_of_what_it_is():
    assert published.published_ellipsoid_volume(np.pi, np.diag([1.0, 4.0])) == pytest.approx(np.pi / 2)


def test_an_orthogonal_rebuild_gives_symmetric_matrices_and_no_others():
    matrix = np.random.default_rng(0).standard_normal((6, 6))
    assert published.orthogonal_rebuild(matrix + matrix.T) == pytest.approx(matrix + matrix.T)
    assert not np.allclose(published.orthogonal_rebuild(matrix), matrix)
    assert published.published_singular_values(np.array([-9.0, 4.0])).tolist() == [3.0, 2.0]


def test_lengths_and_second_moments_as_printed():
    assert published.published_mean_length(64, 0.3) == pytest.approx(5.76)
    vectors, shares = np.eye(2), np.array([0.25, 0.75])
    assert published.published_second_moment(vectors, shares) == pytest.approx(np.diag([0.0625, 0.5625]))


def test_the_printed_path_begins_at_the_opposite_vector():
    v, w = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    path = published.published_slerp(v, w, np.array([0.0, 1.0]))
    assert path == pytest.approx(np.stack([-v, w]))


@pytest.mark.parametrize(("w", "v"), [(0.4, 0.7), (-0.4, 0.7), (-0.3, -0.2)])
def test_a_wave_has_its_phase_and_the_printed_one_another(w, v):
    angles = np.linspace(0, 3, 7)
    direct = w * np.cos(angles) - v * np.sin(angles)
    assert published.wave(w, v, angles) == pytest.approx(direct)
    assert not np.allclose(published.published_wave(w, v, angles), direct)


def test_an_exponential_splits_to_third_order():
    parts = np.array([0.01, 0.02, -0.015])
    assert published.exponential_split(parts) == pytest.approx(np.exp(parts.sum()), abs=1e-5)
    assert published.published_exponential_split(parts) == pytest.approx(np.exp(parts.sum()) + 4, abs=1e-5)
    mean, variance = published.log_normal_series(1000)
    assert mean == pytest.approx(np.exp(0.0005), abs=1e-10)
    assert variance == pytest.approx(np.expm1(0.001) * np.exp(0.001), abs=1e-8)


def test_two_halves_reach_the_bound_on_pairs():
    weights = np.random.default_rng(1).dirichlet(np.ones(5), 500) ** 2
    sums = (weights.sum(1) ** 2 - np.sum(weights**2, 1)) / 2
    assert sums.max() <= published.PAIR_BOUND == 0.25**2
    assert published.published_pair_bound(5) < sums.max()


def test_products_of_coordinates_have_the_variance_of_turned_pairs():
    rng = np.random.default_rng(2)
    x, side = rng.standard_normal((2, 200_000, 6))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    side -= np.sum(side * x, 1, keepdims=True) * x
    y = 0.6 * x + 0.8 * side / np.linalg.norm(side, axis=1, keepdims=True)
    assert (x * y).var(axis=0).sum() == pytest.approx(published.coordinate_product_variance(6, 0.6), rel=0.02)
    assert published.published_sphere_covariance(2.0, 5) == pytest.approx(-0.2)


def test_bounds_mixtures_and_stand_ins():
    assert published.published_score_bound(4.0, np.array([-0.5])).tolist() == [2.0]
    pattern, vector = np.random.default_rng(3).random((4, 4)), np.arange(1.0, 5)
    low = published.rank_one_stand_in(pattern, vector)
    assert low @ vector == pytest.approx(pattern @ vector)
    assert np.linalg.matrix_rank(low) == 1
    shares, means = np.array([0.3, 0.7]), np.array([[0.0], [2.0]])
    own = np.array([[[1.0]], [[4.0]]])
    drawn = np.random.default_rng(4).random(400_000) < 0.3
    values = np.random.default_rng(5).standard_normal(400_000) * np.where(drawn, 1, 2) + np.where(drawn, 0, 2)
    of_means = np.cov(means[:, 0], aweights=shares, ddof=0).reshape(1, 1)
    assert published.mixture_covariance(own, of_means, shares)[0, 0] == pytest.approx(values.var(), rel=0.01)

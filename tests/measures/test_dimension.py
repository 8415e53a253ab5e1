"""TwoNN against scipy's distances, flat sheets and independent ratios; its null against clouds that are Gaussian."""

import numpy as np
import pytest
from fields import alike, all_nan
from scipy.signal import lfilter
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group

from armillary.measures.dimension import SIZES, dimension, gaussianised, squared_distances, twonn


def of(states, massive=None, holes=0):
    return dimension(states, np.zeros(len(states), dtype=bool) if massive is None else massive, holes)


def sheet(rng, count, dimensions, width):
    """Uniform points of a flat cube, turned into `width` dimensions."""
    return rng.uniform(size=(count, dimensions)) @ np.linalg.qr(rng.standard_normal((width, dimensions)))[0].T


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_estimate_is_the_censored_likelihood_of_the_ratios_of_scipys_distances(dtype):
    states = (np.random.default_rng(0).standard_normal((60, 5)) + 3).astype(dtype)
    distances = np.sort(cdist(states, states), axis=1)
    logs = np.sort(np.log(distances[:, 2] / distances[:, 1]))
    expected = 53 / (logs[:54].sum() + 6 * logs[53])
    result = of(states)
    assert result.dimension_twonn == pytest.approx(expected, rel=1e-4 if dtype is np.float32 else 1e-9)


@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_a_flat_sheet_in_many_dimensions_has_its_own_dimension(dimensions):
    result = of(sheet(np.random.default_rng(dimensions), 2000, dimensions, 40))
    assert result.dimension_twonn == pytest.approx(dimensions, rel=0.12)


def test_it_is_unbiased_with_the_error_of_the_likelihood_where_the_ratios_are_independent():
    rng = np.random.default_rng(1)
    results = []
    for _ in range(400):
        squares = np.full((40, 40), 1e6)
        rows = np.arange(40)
        squares[rows, rows - 1] = 1
        squares[rows, rows - 2] = rng.uniform(size=40) ** (-2 / 3)  # P(ratio > x) = x⁻³
        results.append(twonn(squares))
    dimensions = np.array(results)
    assert dimensions.mean() == pytest.approx(3, abs=4 * dimensions.std() / 20)
    assert dimensions.std() == pytest.approx(3 / np.sqrt(34), rel=0.15)  # D / √(r − 2), 36 of 40 logs kept


def test_in_twenty_dimensions_512_points_read_too_low():
    assert 13 < of(np.random.default_rng(4).uniform(size=(512, 20))).dimension_twonn < 18


def test_scale_rotation_and_shift_do_not_change_the_dimension():
    rng = np.random.default_rng(2)
    states = rng.standard_normal((100, 6))
    moved = 1e3 * states @ np.linalg.qr(rng.standard_normal((6, 6)))[0] + 50
    alike(of(moved), of(states), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_repeated_states_count_once(dtype):
    states = np.random.default_rng(3).standard_normal((80, 4)).astype(dtype)
    repeated = np.concatenate([states, states[:30], states[:10]])
    alike(of(repeated), of(states), rtol=1e-3 if dtype is np.float32 else 1e-9)


def test_massive_tokens_stay_out_where_the_run_left_them_out():
    states = np.random.default_rng(5).standard_normal((50, 4))
    massive = np.arange(50) % 7 == 0
    alike(of(states, massive, holes=9), of(states[~massive]))
    alike(of(states, massive, holes=0), of(states))


def test_too_few_different_states_or_a_lattice_have_no_dimension():
    assert all_nan(of(np.ones((20, 3))))
    assert all_nan(of(np.eye(4)))
    assert np.isnan(twonn(squared_distances(np.eye(20))))


def test_the_null_keeps_number_mean_and_covariance_of_the_points():
    states = np.random.default_rng(6).exponential(size=(40, 6))
    gram = states @ states.T
    (turned,) = gaussianised(gram, 1)
    assert turned.sum() == pytest.approx(gram.sum())  # the squared length of the sum of all points
    centring = np.eye(40) - 1 / 40
    found, expected = (np.linalg.eigvalsh(centring @ table @ centring)[-6:] for table in (turned, gram))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert np.abs(turned - gram).max() > 1


def test_gaussian_clouds_have_the_dimension_of_their_null_and_curved_ones_a_lower_one():
    rng = np.random.default_rng(7)
    deviations = np.exp(-np.arange(30) / 6)
    results = [of(rng.standard_normal((150, 30)) * deviations) for _ in range(60)]
    difference = np.array([one.dimension_twonn - one.dimension_twonn_null for one in results])
    assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(60)
    angle = rng.uniform(0, 2 * np.pi, size=(400, 1))
    curve = of(np.cos(angle * np.arange(1, 9)) @ rng.standard_normal((8, 30)))
    assert curve.dimension_twonn == pytest.approx(1, abs=0.2)
    assert curve.dimension_twonn_null > 3


@pytest.mark.parametrize("arrange", ["by text", "shuffled"])
def test_the_null_is_that_of_a_uniform_random_rotation_whatever_the_order_of_the_tokens(arrange):
    """Neighbours along a text are alike, as an autoregressive walk's are; scipy draws the rotations."""
    rng = np.random.default_rng(8)
    walk = lfilter([1], [1, -0.95], rng.standard_normal((200, 24)) * np.exp(-np.arange(24) / 8), axis=0)
    states = walk if arrange == "by text" else rng.permutation(walk)
    centred = states - states.mean(0)
    ones = np.linalg.qr(np.column_stack([np.ones(200), rng.standard_normal((200, 199))]))[0]
    expected = []
    for _ in range(30):
        turn = ones[:, 1:] @ ortho_group.rvs(199, random_state=rng) @ ones[:, 1:].T
        expected.append(twonn(squared_distances(turn @ centred @ centred.T @ turn.T)))
    found = of(states)
    scatter = np.std(expected) * np.sqrt(1 / 30 + 1 / 3)
    assert abs(found.dimension_twonn_null - np.mean(expected)) < 3.5 * scatter
    assert 0.2 < found.dimension_twonn_null_sd / np.std(expected) < 2.5


def test_the_scale_curve_is_the_mean_over_disjoint_parts_and_ends_where_the_points_do():
    states = np.random.default_rng(9).standard_normal((300, 12))
    found = of(states)
    order = np.random.default_rng(0).permutation(300)
    alone = [of(states[order[start : start + 128]]).dimension_twonn for start in (0, 128)]
    assert found.dimension_twonn_by_size[SIZES.index(128)] == pytest.approx(np.mean(alone))
    assert np.isnan(found.dimension_twonn_by_size[SIZES.index(512)])
    assert found.dimension_twonn_by_size[0] < found.dimension_twonn

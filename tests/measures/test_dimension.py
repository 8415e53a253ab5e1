import numpy as np
import pytest
from scipy.spatial.distance import cdist

from armillary.measures.dimension import dimension_twonn
from armillary.measures.layers import sample_gram


def twonn(states, **options):
    return dimension_twonn(sample_gram(states[None])[0], **options)


def sheet(rng, count, dimension, width):
    """Uniform points of a flat cube, turned into `width` dimensions."""
    return rng.uniform(size=(count, dimension)) @ np.linalg.qr(rng.standard_normal((width, dimension)))[0].T


def test_the_estimate_is_the_censored_likelihood_of_the_ratios_of_scipys_distances():
    states = np.random.default_rng(0).standard_normal((60, 5)) + 3
    distances = np.sort(cdist(states, states), axis=1)
    logs = np.sort(np.log(distances[:, 2] / distances[:, 1]))
    expected = 53 / (logs[:54].sum() + 6 * logs[53])
    result = twonn(states)
    assert result.dimension_twonn == pytest.approx(expected)
    assert result.dimension_twonn_se == pytest.approx(expected / np.sqrt(52))


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_a_flat_sheet_in_many_dimensions_has_its_own_dimension(dimension):
    result = twonn(sheet(np.random.default_rng(dimension), 2000, dimension, 40))
    assert result.dimension_twonn == pytest.approx(dimension, rel=0.12)


def test_it_is_unbiased_with_the_stated_error_where_the_ratios_are_independent():
    rng = np.random.default_rng(1)
    results = []
    for _ in range(400):
        squares = np.full((40, 40), 1e6)
        np.fill_diagonal(squares, 0)
        rows = np.arange(40)
        squares[rows, rows - 1] = 1
        squares[rows, rows - 2] = rng.uniform(size=40) ** (-2 / 3)  # P(ratio > x) = x⁻³
        results.append(dimension_twonn(-squares / 2))
    dimensions, errors = np.array(results).T
    assert dimensions.mean() == pytest.approx(3, abs=4 * dimensions.std() / 20)
    assert dimensions.std() == pytest.approx(errors.mean(), rel=0.15)


def test_in_twenty_dimensions_512_points_read_too_low():
    assert 13 < twonn(np.random.default_rng(4).uniform(size=(512, 20))).dimension_twonn < 18


def test_scale_rotation_and_shift_do_not_change_the_dimension():
    rng = np.random.default_rng(2)
    states = rng.standard_normal((100, 6))
    moved = 1e3 * states @ np.linalg.qr(rng.standard_normal((6, 6)))[0] + 50
    assert twonn(moved).dimension_twonn == pytest.approx(twonn(states).dimension_twonn)


def test_repeated_states_count_once():
    states = np.random.default_rng(3).standard_normal((80, 4))
    repeated = np.concatenate([states, states[:30], states[:10]])
    grams = sample_gram(np.stack([repeated - states.mean(axis=0)]))[0]
    assert dimension_twonn(grams).dimension_twonn == pytest.approx(twonn(states).dimension_twonn)


def test_too_few_different_states_or_a_lattice_have_no_dimension():
    assert np.isnan(twonn(np.ones((20, 3))).dimension_twonn)
    assert np.isnan(twonn(np.eye(4)).dimension_twonn)
    assert np.isnan(dimension_twonn(np.eye(20)).dimension_twonn)

"""The curves of figures 1 to 4 against closed forms: the logistic function, the error function, windows, log T."""

import numpy as np
import pytest
from scipy.special import erf, expit

from armillary.measures.localization.curves import (
    MANY,
    entropy_bounds,
    piecewise_distances,
    rho_narrowing,
    rho_plane,
    two_keys,
)
from armillary.measures.localization.regimes import plane_shares

XI, ETA, LENGTH = np.linspace(-10, 10, 21), np.array([0.001, 0.5, 1.0, 2.0]), 40


@pytest.fixture(scope="module")
def plane():
    return rho_plane(XI, ETA, LENGTH)


def test_of_two_keys_the_softmax_is_the_logistic_function_and_its_pieces_a_clipped_line():
    score = np.linspace(-5, 5, 41)
    found = two_keys(score)
    np.testing.assert_allclose(found.softmax, expit(score), rtol=1e-12)
    np.testing.assert_allclose(found.piecewise, np.clip(0.5 + score / 4, 0, 1), atol=1e-15)


def test_the_distance_of_the_pieces_follows_its_law_for_small_scores_of_many_keys():
    found = piecewise_distances(np.array([512]), np.array([0.05, 0.1]), draws=200)
    np.testing.assert_allclose(found.piecewise_distance[0], found.piecewise_distance_small, rtol=0.02)


def test_the_distance_of_the_pieces_is_that_of_an_independent_simulation():
    # 2000 draws by another program, T = 40: 0.0553 (SE 0.0003) at 0.5, 0.175 at 1, 0.477 (0.003) at 2.
    found = piecewise_distances(np.array([40]), np.array([0.5, 1.0, 2.0]), draws=2000, seed=3)
    error = np.hypot(found.piecewise_distance_se[0], [0.0003, 0.0010, 0.003])
    assert (np.abs(found.piecewise_distance[0] - [0.0553, 0.175, 0.477]) < 4 * error).all()


def test_the_plane_at_its_own_length_is_the_gaussian_law_with_exact_moments(plane):
    for row, eta in enumerate(ETA):
        np.testing.assert_allclose(plane.rho[row], plane_shares(XI, np.full(XI.shape, eta), LENGTH).rho, atol=1e-14)


def test_without_trace_many_tokens_give_the_error_function(plane):
    theta = np.round(np.arange(1, LENGTH + 1) / LENGTH * MANY) / MANY
    variance = 2 * (theta - 0.5) ** 2 + 1 / 12
    for row, eta in enumerate(ETA[1:], 1):
        expected = 0.5 * erf(1 / (eta * np.sqrt(2 * variance)))
        np.testing.assert_allclose(plane.rho_many[row, 10], expected, atol=2e-4)
        published = 0.5 * erf(1 / (eta * np.sqrt(2 * (2 * theta**2 + 7 / 12))))
        np.testing.assert_allclose(plane.rho_published[row, 10], published, atol=1e-12)


def test_turning_the_sign_of_xi_turns_the_corrected_law_round_and_not_the_published_one(plane):
    np.testing.assert_allclose(plane.rho, plane.rho[:, ::-1, ::-1], atol=1e-12)
    assert np.abs(plane.rho_published - plane.rho_published[:, ::-1, ::-1]).max() > 0.1


def test_few_tokens_let_every_signal_pass_where_many_let_half_of_them(plane):
    # ξ = 10, η = 0.001: the window of the mean is wider than the walk at T = 40.
    assert plane.rho[0, -1].min() > 0.999
    assert plane.rho_many[0, -1, 0] < 0.001
    assert plane.rho_many[0, -1, -1] > 0.999


def test_the_published_law_is_off_by_0_55_at_xi_10_and_eta_1_however_many_tokens(plane):
    assert np.abs(plane.rho_many - plane.rho_published)[2, -1].max() == pytest.approx(0.554, abs=0.01)


def test_as_xi_grows_rho_becomes_the_window_of_the_mean():
    theta = np.arange(1, LENGTH + 1) / LENGTH
    products = np.array([1.28, 5.12, -5.12])
    found = rho_narrowing(products, np.array([8.0, 1e5]), LENGTH)
    for row, product in enumerate(products):
        ends = sorted([0.5, 0.5 + 1 / product])
        inside = (theta > ends[0]) & (theta < ends[1])
        away = np.min(np.abs(theta[:, None] - ends), axis=1) > 0.01
        np.testing.assert_allclose(found.rho_narrowing[row, 1, away], inside[away], atol=1e-6)
        np.testing.assert_allclose(found.rho_narrowing_published[row, 1, away], inside[away], atol=1e-6)


def test_the_corrected_bound_never_exceeds_the_largest_entropy_and_the_published_one_does():
    found = entropy_bounds(np.linspace(0, 20, 101), 64)
    assert found.entropy_largest == pytest.approx(np.log(64))
    assert found.bound_corrected[0] == pytest.approx(np.log(64))
    assert (np.diff(found.bound_corrected) <= 0).all()
    assert found.bound_published.max() == pytest.approx(18.72, abs=0.01)

"""ρ_i four ways: the exact law against simulated walks, the low-rank route against the full one, symmetries, limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from armillary.measures.errors.groups import group_mean
from armillary.measures.localization.law import (
    exact_shares,
    gaussian_shares,
    law_weights,
    measured_groups,
    measured_shares,
    published_rho,
    symmetric_shares,
)
from armillary.measures.localization.softmax import tangent
from armillary.measures.localization.walk import head_covariances, moments, offsets, spread, traces

WALKS = 20_000
STATED = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Where in the walk ρ is looked at in each setting, as a share of its length."""


def drawn_head(seed, isotropic, symmetric, strength, d_model=12, d_head=3):
    """Factors of W_QK and a covariance. Symmetric: W_Q = W_K up to the signs of the eigenvalues, mostly positive."""
    rng = np.random.default_rng(seed)
    factor = rng.uniform(-2.5, 2.5, (d_model, d_model))
    W_Q, W_K = rng.standard_normal((2, d_model, d_head)) * np.sqrt(strength / d_model)
    if symmetric:
        W_K = W_Q * np.where(np.arange(d_head) < 1, -1, 1)
    return W_Q, W_K, np.eye(d_model) if isotropic else factor.T @ factor / d_model


def simulated_tangents(M, covariance, length, walks, seed):
    """g_i of walks made step by step, by the letter of Assumption 1."""
    rng = np.random.default_rng(seed)
    steps = rng.standard_normal((walks, length, len(M))) @ np.linalg.cholesky(covariance).T
    states = np.cumsum(steps, axis=1)
    return tangent(np.einsum("wid,de,we->wi", states, M, states[:, -1], optimize=True))


SETTINGS = [
    (isotropic, symmetric, strength, length)
    for isotropic in (True, False)
    for symmetric in (True, False)
    for strength in (0.05, 0.3, 1.5)
    for length in (10, 40)
]


@pytest.fixture(scope="module")
def simulations():
    """Hits among independent walks of each of 24 settings, the exact ρ and the Gaussian one."""
    found = []
    for seed, (isotropic, symmetric, strength, length) in enumerate(SETTINGS):
        W_Q, W_K, covariance = drawn_head(seed, isotropic, symmetric, strength)
        values = simulated_tangents(W_Q @ W_K.T, covariance, length, WALKS, seed=1000 + seed)
        covariances = head_covariances(W_Q, W_K, covariance)
        hits = np.count_nonzero((values >= 0) & (values <= 1), axis=0)
        gaussian = gaussian_shares(*moments(*traces(*covariances), length)).rho
        found.append((hits, exact_shares(*covariances, length).rho, gaussian))
    return found


def z_scores(hits, rho):
    """Standard errors between hits and ρ, with the binomial error of ρ itself; NaN where the normal law is no guide."""
    variance = WALKS * rho * (1 - rho)
    return (hits - WALKS * rho) / np.sqrt(np.where(variance >= 25, variance, np.nan))


def test_the_exact_rho_is_that_of_simulated_walks_in_24_settings_at_every_position(simulations):
    hits, rho, gaussian = (np.concatenate(each) for each in zip(*simulations, strict=True))
    lower, upper = stats.binom.cdf(hits, WALKS, rho), stats.binom.sf(hits - 1, WALKS, rho)
    assert len(hits) == 600
    assert 2 * np.minimum(lower, upper).min() > 0.01 / 600  # Bonferroni: 1 % for all looks together
    assert np.nanmax(np.abs(z_scores(hits, rho))) < stats.norm.isf(0.01 / 2 / 600)
    assert np.nanmax(np.abs(z_scores(hits, gaussian))) > 20  # three modes are far from Gaussian: the looks have power


@pytest.mark.parametrize("share", STATED)
def test_the_exact_rho_departs_from_independent_simulations_by_no_more_than_chance(simulations, share):
    # One position of each setting: independent walks, so the squares add up to a chi-square.
    scores = [z_scores(hits, rho)[round(share * (len(rho) - 1))] for hits, rho, _ in simulations]
    scores = np.array(scores)[np.isfinite(scores)]
    assert len(scores) >= 16
    assert np.count_nonzero(np.abs(scores) > 3) == 0
    assert 0.001 < stats.chi2.sf(np.sum(scores**2), len(scores)) < 0.999


@given(seed=st.integers(0, 10_000), length=st.integers(2, 40), d_head=st.integers(1, 5))
@settings(max_examples=40)
def test_the_low_rank_route_is_the_full_one(seed, length, d_head):
    W_Q, W_K, covariance = drawn_head(seed, isotropic=False, symmetric=False, strength=1.0, d_model=7, d_head=d_head)
    low = exact_shares(*head_covariances(W_Q, W_K, covariance), length)
    full = exact_shares(*head_covariances(W_Q @ W_K.T, np.eye(7), covariance), length)
    for each, other in zip(low, full, strict=True):
        np.testing.assert_allclose(each, other, atol=1e-9)


@given(seed=st.integers(0, 10_000), length=st.integers(2, 12))
@settings(max_examples=30)
def test_weights_are_the_eigenvalues_of_the_two_vectors_form_written_out(seed, length):
    W_Q, W_K, covariance = drawn_head(seed, isotropic=False, symmetric=False, strength=1.0, d_model=6, d_head=2)
    M, empty = W_Q @ W_K.T, np.zeros((6, 6))
    weights = law_weights(*head_covariances(W_Q, W_K, covariance), length)
    for u, row in zip(offsets(length), weights, strict=True):
        own = (u**2 + spread(length)) / length
        joint = np.kron([[own, u], [u, length]], covariance)
        eigenvalues = np.linalg.eigvals(np.block([[empty, M], [M.T, empty]]) @ joint).real
        largest = eigenvalues[np.argsort(-np.abs(eigenvalues))[:4]]
        np.testing.assert_allclose(np.sort(row), np.sort(largest), rtol=1e-7, atol=1e-9)


@given(seed=st.integers(0, 10_000), length=st.integers(2, 40))
@settings(max_examples=30)
def test_mean_and_variance_of_the_exact_law_are_the_exact_moments(seed, length):
    covariances = head_covariances(*drawn_head(seed, isotropic=False, symmetric=False, strength=1.0))
    weights, found = law_weights(*covariances, length), moments(*traces(*covariances), length)
    np.testing.assert_allclose(weights.sum(axis=1) / 2 + 1 / length, found.mean, atol=1e-10)
    np.testing.assert_allclose(np.sum(weights**2, axis=1) / 2, found.variance, rtol=1e-9)


@pytest.mark.parametrize("length", [2, 10, 41])
def test_a_symmetric_head_has_the_law_of_its_eigenvalues(length):
    W_Q, W_K, covariance = drawn_head(1, isotropic=False, symmetric=True, strength=0.5)
    eigenvalues = np.linalg.eigvals(W_Q @ W_K.T @ covariance).real
    of_spectrum, of_head = (
        symmetric_shares(eigenvalues, length),
        exact_shares(*head_covariances(W_Q, W_K, covariance), length),
    )
    for each, other in zip(of_spectrum, of_head, strict=True):
        np.testing.assert_allclose(each, other, atol=1e-9)


@given(seed=st.integers(0, 10_000), length=st.integers(2, 40), strength=st.floats(0.01, 10))
@settings(max_examples=30)
def test_turning_the_sign_of_w_turns_the_positions(seed, length, strength):
    query, key, cross = head_covariances(*drawn_head(seed, isotropic=False, symmetric=False, strength=strength))
    rho = exact_shares(query, key, cross, length).rho
    np.testing.assert_allclose(exact_shares(query, key, -cross, length).rho[::-1], rho, atol=1e-9)
    trace, square, energy = traces(query, key, cross)
    gaussian = gaussian_shares(*moments(trace, square, energy, length)).rho
    np.testing.assert_allclose(
        gaussian_shares(*moments(-trace, square, energy, length)).rho[::-1], gaussian, atol=1e-12
    )


def test_the_published_rho_is_not_turned_by_the_sign_of_w():
    assert np.abs(published_rho(1.0, 0.5, 40) - published_rho(-1.0, 0.5, 40)[::-1]).max() > 0.1


def test_a_transposed_head_has_the_same_law():
    W_Q, W_K, covariance = drawn_head(2, isotropic=False, symmetric=False, strength=0.5)
    one, other = (exact_shares(*head_covariances(*pair, covariance), 20).rho for pair in ((W_Q, W_K), (W_K, W_Q)))
    np.testing.assert_allclose(one, other, atol=1e-10)


def test_chosen_positions_are_those_of_all():
    covariances = head_covariances(*drawn_head(3, isotropic=False, symmetric=False, strength=0.5))
    chosen = np.array([40, 1, 17, 24])
    np.testing.assert_allclose(
        exact_shares(*covariances, 40, chosen).rho, exact_shares(*covariances, 40).rho[chosen - 1], atol=1e-12
    )


def test_directions_without_variance_do_not_matter():
    W_Q, W_K, covariance = drawn_head(4, isotropic=False, symmetric=False, strength=0.5)
    padded = [np.concatenate([each, np.zeros((12, 2))], axis=1) for each in (W_Q, W_K)]
    flat = covariance.copy()
    flat[:, 5:] = flat[5:, :] = 0
    for sigma in (covariance, flat):
        expected = exact_shares(*head_covariances(W_Q, W_K, sigma), 10).rho
        np.testing.assert_allclose(exact_shares(*head_covariances(*padded, sigma), 10).rho, expected, atol=1e-9)


def test_a_rotation_of_the_plane_has_no_published_rho_but_an_exact_one():
    rotation = np.array([[0.0, -1.0], [1.0, 0.0]]) / 3
    covariances = head_covariances(rotation, np.eye(2), np.eye(2))
    trace, square, _ = traces(*covariances)
    assert square < 0
    assert np.isnan(published_rho(trace, square, 10)).all()
    values = simulated_tangents(rotation, np.eye(2), 10, WALKS, seed=5)
    expected = measured_shares(values * 10).rho
    assert np.abs(exact_shares(*covariances, 10).rho - expected).max() < 4 * np.sqrt(0.25 / WALKS)


def test_without_weights_every_signal_passes_and_nan_stays_nan():
    zero = np.zeros((3, 3))
    np.testing.assert_array_equal(exact_shares(zero, zero, zero, 8).rho, np.ones(8))
    np.testing.assert_array_equal(symmetric_shares(np.zeros(4), 8).rho, np.ones(8))
    np.testing.assert_array_equal(gaussian_shares(*moments(0.0, 0.0, 0.0, 8)).rho, np.ones(8))
    np.testing.assert_array_equal(symmetric_shares(np.ones(4), 1).rho, [1])
    assert np.isnan(exact_shares(zero + np.nan, zero, zero, 8).rho).all()
    assert np.isnan(published_rho(0.0, 0.0, 8)).all()


def test_shares_add_up_to_1():
    covariances = head_covariances(*drawn_head(6, isotropic=False, symmetric=False, strength=2.0))
    exact = exact_shares(*covariances, 30)
    gaussian = gaussian_shares(*moments(*traces(*covariances), 30))
    measured = measured_shares(5 * np.random.default_rng(7).standard_normal((50, 30)))
    for shares in (exact, gaussian, measured):
        np.testing.assert_allclose(sum(shares), 1, atol=1e-12)


def test_many_equal_modes_are_gaussian():
    eigenvalues = np.full(1600, 0.03)
    trace, square = float(eigenvalues.sum()), float(np.sum(eigenvalues**2))
    gaussian = gaussian_shares(*moments(trace / 50, square, square, 40)).rho
    balanced = eigenvalues * np.where(np.arange(1600) < 816, 1, -1)
    assert balanced.sum() == pytest.approx(trace / 50)
    np.testing.assert_allclose(symmetric_shares(balanced, 40).rho, gaussian, atol=0.006)


@pytest.mark.parametrize(("xi", "eta"), [(-5.0, 0.5), (0.0, 1.0), (10.0, 0.1), (3.0, 4.0)])
def test_the_published_rho_is_equation_6(xi, eta):
    theta = np.arange(1, 41) / 40
    width = np.sqrt(2 * (2 * theta**2 + 7 / 12))
    expected = special.erf((theta - 0.5) * xi / width) / 2 - special.erf(((theta - 0.5) * xi - 1 / eta) / width) / 2
    np.testing.assert_allclose(published_rho(xi * eta, eta**2, 40), expected, atol=1e-12)


def test_measured_shares_count_contexts_and_groups_give_their_mean():
    rng = np.random.default_rng(9)
    scores, group = 20 * rng.standard_normal((60, 12)), rng.integers(3, 8, 60)
    inside = (1 + scores - scores.mean(axis=1, keepdims=True) >= 0) & (
        1 + scores - scores.mean(axis=1, keepdims=True) <= 12
    )
    np.testing.assert_allclose(measured_shares(scores).rho, inside.mean(axis=0))
    groups = measured_groups(scores, group)
    np.testing.assert_array_equal(groups.contexts, np.bincount(group)[3:])
    np.testing.assert_allclose(group_mean(*groups).mean, inside.mean(axis=0))


def test_masked_scores_are_refused():
    with pytest.raises(ValueError, match="expected finite scores, got NaN or infinity: take them before the mask"):
        measured_shares(np.array([[0.0, -np.inf]]))


@pytest.mark.parametrize("w", [-3.0, -0.4, 0.1, 1.0, 8.0])
def test_a_single_mode_over_two_tokens_has_the_law_that_integration_over_the_step_gives(w):
    # g₂ − ½ = w e (x₁ + e)/4 with the step e = x₂ − x₁: given e, normal with mean w e²/4 and deviation |w e|/4.
    def inside(step):
        law = stats.norm(w * step**2 / 4, abs(w * step) / 4)
        return stats.norm.pdf(step) * (law.cdf(0.5) - law.cdf(-0.5))

    expected = 2 * integrate.quad(inside, 0, 12, epsabs=1e-11, limit=400)[0]
    assert symmetric_shares(np.array([w]), 2).rho[1] == pytest.approx(expected, abs=1e-8)

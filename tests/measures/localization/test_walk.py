"""Moments of g_i against simulated walks and against the whole quadratic form written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from armillary.measures.localization.softmax import tangent
from armillary.measures.localization.walk import (
    head_covariances,
    moments,
    offsets,
    published_moments,
    spread,
    traces,
    xi_eta,
)


def drawn_head(seed, d_model, d_head):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((d_model, d_model))
    W_Q, W_K = rng.standard_normal((2, d_model, d_head)) / np.sqrt(d_model)
    return W_Q, W_K, factor @ factor.T / d_model


def simulated_tangents(M, covariance, length, walks, seed):
    """g_i of walks made step by step, by the letter of Assumption 1."""
    rng = np.random.default_rng(seed)
    steps = rng.standard_normal((walks, length, len(M))) @ np.linalg.cholesky(covariance).T
    states = np.cumsum(steps, axis=1)
    return tangent(np.einsum("wid,de,we->wi", states, M, states[:, -1], optimize=True))


def moments_written_out(M, covariance, length):
    """Mean and variance of xᵀA_i x for all tokens in one vector x: tr AC + 1/T and 2 tr ACAC."""
    order = np.arange(1, length + 1)
    whole = np.kron(np.minimum.outer(order, order), covariance)
    found = []
    for i in range(length):
        weights = (np.eye(length)[i] - 1 / length) / length
        form = np.kron(np.outer(weights, np.eye(length)[-1]), M)
        product = (form + form.T) / 2 @ whole
        found.append((np.trace(product) + 1 / length, 2 * np.trace(product @ product)))
    return np.array(found).T


@given(seed=st.integers(0, 10_000), length=st.integers(1, 8), d_head=st.integers(1, 4))
@settings(max_examples=40)
def test_moments_are_those_of_the_whole_quadratic_form(seed, length, d_head):
    W_Q, W_K, covariance = drawn_head(seed, 4, d_head)
    found = moments(*traces(*head_covariances(W_Q, W_K, covariance)), length)
    mean, variance = moments_written_out(W_Q @ W_K.T, covariance, length)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-9, atol=1e-12)


def test_moments_of_an_asymmetric_head_are_those_of_simulated_walks():
    W_Q, W_K, covariance = drawn_head(3, 6, 4)
    values = simulated_tangents(W_Q @ W_K.T, covariance, 10, 200_000, seed=4)
    found = moments(*traces(*head_covariances(W_Q, W_K, covariance)), 10)
    centred = values - found.mean
    mean_z = centred.mean(axis=0) / (values.std(axis=0) / np.sqrt(len(values)))
    variance_z = (np.mean(centred**2, axis=0) - found.variance) / (np.std(centred**2, axis=0) / np.sqrt(len(values)))
    # 20 looks that must all stay inside: 1 % for the family.
    assert max(np.abs(mean_z).max(), np.abs(variance_z).max()) < stats.norm.isf(0.01 / 2 / 20)


def test_the_symmetrised_matrix_has_another_variance():
    W_Q, W_K, covariance = drawn_head(5, 6, 4)
    M = W_Q @ W_K.T
    own = moments(*traces(*head_covariances(M, np.eye(6), covariance)), 10)
    symmetrised = moments(*traces(*head_covariances((M + M.T) / 2, np.eye(6), covariance)), 10)
    np.testing.assert_allclose(own.mean, symmetrised.mean)
    assert (symmetrised.variance < 0.9 * own.variance).all()


def test_the_published_variance_is_13_times_the_simulated_one_in_the_middle():
    rng = np.random.default_rng(6)
    eigenvalues = rng.normal(0.1, 0.05, 16)
    variance = simulated_tangents(np.diag(eigenvalues), np.eye(16), 40, 40_000, seed=7).var(axis=0)
    trace, square = float(eigenvalues.sum()), float(np.sum(eigenvalues**2))
    published = published_moments(trace, square, 40).variance / variance
    exact = moments(trace, square, square, 40).variance / variance
    assert published[[0, 19, 39]] == pytest.approx([1.047, 12.96, 4.63], rel=0.05)
    assert exact == pytest.approx(np.ones(40), rel=0.05)


@given(st.integers(2, 400))
def test_the_published_variance_lacks_minus_2_theta_and_terms_of_order_1_over_length(length):
    theta = np.arange(1, length + 1) / length
    exact = moments(1.0, 1.0, 1.0, length).variance
    published = published_moments(1.0, 1.0, length).variance
    np.testing.assert_allclose(exact, published - 2 * theta + (1 - 2 * theta) / length + 5 / (12 * length**2))


def test_published_and_exact_means_differ_by_order_1_over_length():
    for length in (10, 40, 1000):
        difference = moments(3.0, 1.0, 1.0, length).mean - published_moments(3.0, 1.0, length).mean
        np.testing.assert_allclose(difference, (1 - 3 / 2) / length, atol=1e-12)


@given(st.integers(1, 60))
def test_offsets_and_spread_are_those_of_the_walk(length):
    order = np.arange(1, length + 1)
    covariance = np.minimum.outer(order, order)
    rows = (np.eye(length) - 1 / length) / length
    np.testing.assert_allclose(offsets(length), rows @ covariance[:, -1], atol=1e-12)
    own = np.einsum("ij,jk,ik->i", rows, covariance, rows) * length
    np.testing.assert_allclose(own, offsets(length) ** 2 + spread(length), atol=1e-12)


def test_traces_are_those_of_the_full_matrices_for_each_head():
    rng = np.random.default_rng(8)
    W_Q, W_K = rng.standard_normal((2, 3, 2, 7, 4))
    covariance = drawn_head(8, 7, 1)[2]
    found = traces(*head_covariances(W_Q, W_K, covariance))
    for place in np.ndindex(3, 2):
        W = W_Q[place] @ W_K[place].T @ covariance
        expected = np.trace(W), np.trace(W @ W), np.trace(W @ W_K[place] @ W_Q[place].T @ covariance)
        assert [each[place] for each in found] == pytest.approx(expected)
    assert moments(*found, 9).variance.shape == (3, 2, 9)
    assert (np.abs(found.trace_square) <= found.energy).all()


def test_xi_and_eta_do_not_exist_where_the_trace_of_the_square_is_not_positive():
    found = xi_eta(np.array([6.0, 1.0, 0.0]), np.array([4.0, -2.0, 0.0]), temperature=2.0)
    np.testing.assert_array_equal(found.xi, [3, np.nan, np.nan])
    np.testing.assert_array_equal(found.eta, [1, np.nan, np.nan])
    assert np.isnan(published_moments(1.0, -2.0, 5).variance).all()
    assert (moments(0.0, -2.0, 2.0, 5).variance > 0).all()


def test_positions_are_counted_from_1_and_others_are_refused():
    np.testing.assert_array_equal(offsets(9, np.array([9, 1])), offsets(9)[[8, 0]])
    with pytest.raises(ValueError, match="expected positions from 1 to 9, got 0 to 8: count them from 1"):
        offsets(9, np.arange(9))
    with pytest.raises(ValueError, match="expected a length of at least 1, got 0"):
        offsets(0)

"""A head's localization from its triangular factors is that of the full weights; with Σ = I both ways agree."""

import numpy as np
import pytest

from armillary.measures.localization.heads import data_localization, localization
from armillary.measures.localization.law import exact_shares
from armillary.measures.localization.walk import head_covariances, published_moments, traces, xi_eta
from armillary.measures.spectra.factors import data_factors, factors

PLACES = np.array([1, 10, 20, 31, 40])


def weights(seed=0):
    return np.random.default_rng(seed).standard_normal((2, 24, 5))


def test_factors_give_what_the_full_weights_give():
    W_Q, W_K = weights()
    made = factors(W_Q, W_K, W_Q, W_K.T)
    found = localization(made.R_Q, made.R_K, made.inner_qk, 0.125, PLACES, 40)
    covariances = head_covariances(0.125 * W_Q, W_K, np.eye(24))
    exact = traces(*covariances)
    assert (found.xi, found.eta) == pytest.approx(tuple(map(float, xi_eta(exact.trace, exact.trace_square))))
    assert found.rho == pytest.approx(exact_shares(*covariances, 40, PLACES).rho)
    mean, variance = published_moments(exact.trace, exact.trace_square, 40, PLACES)
    assert np.isfinite(mean + variance).all()
    assert found.regime in ("late", "middle", "early", "uniform", "vanishing")


def test_the_identity_as_covariance_changes_nothing():
    W_Q, W_K = weights(1)
    made, data = factors(W_Q, W_K, W_Q, W_K.T), data_factors(W_Q, W_K, np.eye(24))
    plain = localization(made.R_Q, made.R_K, made.inner_qk, 0.3, PLACES, 40)
    weighted = data_localization(data.gram_q_data, data.gram_k_data, data.inner_qk_data, 0.3, PLACES, 40)
    for one, other in zip(plain, weighted, strict=True):
        assert one == other if isinstance(one, str | bool) else other == pytest.approx(one)


def test_where_the_trace_of_the_square_is_negative_only_the_published_numbers_are_missing():
    W = np.random.default_rng(2).standard_normal((12, 4))
    turned = W @ np.kron(np.eye(2), np.array([[0.0, 1], [-1, 0]]))
    made = factors(W, turned, W, W.T)
    found = localization(made.R_Q, made.R_K, made.inner_qk, 1.0, PLACES, 40)
    assert np.isnan([found.xi, found.eta]).all()
    assert np.isnan(found.rho_published).all()
    assert np.isfinite(found.rho).all()
    assert np.isfinite(found.rho_gaussian).all()


def test_a_zero_head_lets_every_key_pass():
    zero = np.zeros((3, 3))
    found = localization(zero, zero, zero, 1.0, PLACES, 40)
    assert found.rho.tolist() == [1, 1, 1, 1, 1]
    assert found.regime == "uniform"

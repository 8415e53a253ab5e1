"""Attention with fixed weights against simulation, and the stationary formula against the whole joint law."""

import numpy as np
import pytest

from armillary.measures.gaussian.information import Gaussian, gaussian_entropy, mutual_information
from armillary.measures.gaussian.mixing import lag_weights, mixed_covariance, mixed_information, mixed_law
from armillary.measures.localization.softmax import softmax

RNG = np.random.default_rng(0)
TOKENS, MODES = 5, 2
STEP = np.array([[0.8, 0.2], [-0.1, 0.5]])


def stationary():
    """Cov(x_i, x_{i+δ}) of x_{i+1} = A x_i + noise with Cov(x) = I, and the covariance of all tokens."""
    lagged = np.stack([np.linalg.matrix_power(STEP, distance).T for distance in range(TOKENS)])
    whole = np.zeros((TOKENS * MODES,) * 2)
    for i in range(TOKENS):
        for j in range(TOKENS):
            block = lagged[j - i] if j >= i else lagged[i - j].T
            whole[i * MODES : (i + 1) * MODES, j * MODES : (j + 1) * MODES] = block
    return lagged, whole


PATTERN = softmax(RNG.standard_normal((TOKENS, TOKENS)))


def test_the_mixed_law_is_that_of_mixed_draws():
    _, whole = stationary()
    law = Gaussian(RNG.standard_normal(TOKENS * MODES), whole)
    draws = RNG.multivariate_normal(law.mean, whole, 200_000).reshape(-1, TOKENS, MODES)
    outputs = np.einsum("qk,skm->sqm", PATTERN, draws).reshape(-1, TOKENS * MODES)
    found = mixed_law(law, PATTERN)
    np.testing.assert_allclose(outputs.mean(0), found.mean, atol=0.02)
    np.testing.assert_allclose(np.cov(outputs.T), found.covariance, atol=0.02)


def test_distances_alone_give_the_covariance_of_two_outputs():
    lagged, whole = stationary()
    mixed = mixed_law(Gaussian(np.zeros(TOKENS * MODES), whole), PATTERN).covariance
    for query, other in ((1, 1), (1, 3), (4, 0)):
        rows = slice(query * MODES, (query + 1) * MODES), slice(other * MODES, (other + 1) * MODES)
        np.testing.assert_allclose(mixed_covariance(PATTERN[query], PATTERN[other], lagged), mixed[rows], atol=1e-12)


def test_lag_weights_add_up_to_the_product_of_sums():
    ahead, behind = lag_weights(PATTERN[0], PATTERN[1])
    assert ahead[0] == pytest.approx(behind[0]) == pytest.approx(PATTERN[0] @ PATTERN[1])
    assert ahead.sum() + behind[1:].sum() == pytest.approx(1)


def test_entropy_and_information_after_mixing_are_those_of_the_joint_law():
    lagged, whole = stationary()
    mixed = mixed_law(Gaussian(np.zeros(TOKENS * MODES), whole), PATTERN).covariance
    found = mixed_information(PATTERN[1], PATTERN[3], lagged)
    places = np.r_[2:4, 6:8]
    both = mixed[np.ix_(places, places)]
    assert found.entropy == pytest.approx(gaussian_entropy(both[:2, :2]))
    assert found.entropy_other == pytest.approx(gaussian_entropy(both[2:, 2:]))
    assert found.information == pytest.approx(mutual_information(both, 2))
    before = mutual_information(np.block([[lagged[0], lagged[2]], [lagged[2].T, lagged[0]]]), 2)
    assert abs(found.information - before) > 0.1

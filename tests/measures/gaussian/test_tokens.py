"""The law of one of k tokens against drawn tokens and eigenvalues."""

import numpy as np
import pytest

from armillary.measures.gaussian.tokens import (
    centred_token_gram,
    pair_spectrum,
    published_token_gram,
    spectral_energy,
    token_gram,
    token_law,
)
from armillary.measures.similarity import unit_vectors

RNG = np.random.default_rng(0)
VECTORS = unit_vectors(RNG.standard_normal((5, 12)))
SHARES = np.array([0.4, 0.25, 0.2, 0.1, 0.05])
ANGLES = VECTORS @ VECTORS.T


def test_mean_and_covariance_are_those_of_drawn_tokens():
    draws = VECTORS[RNG.choice(5, 200_000, p=SHARES)]
    law = token_law(VECTORS, SHARES)
    np.testing.assert_allclose(draws.mean(0), law.mean, atol=0.01)
    np.testing.assert_allclose(np.cov(draws.T), law.covariance, atol=0.01)
    assert np.linalg.matrix_rank(law.covariance) == 4


def test_the_gram_has_the_eigenvalues_of_the_second_moment_and_trace_1():
    moment = (VECTORS.T * SHARES) @ VECTORS
    gram = token_gram(SHARES, ANGLES)
    np.testing.assert_allclose(np.linalg.eigvalsh(gram), np.linalg.eigvalsh(moment)[-5:])
    assert np.trace(gram) == pytest.approx(1)
    assert np.trace(published_token_gram(SHARES, ANGLES)) == pytest.approx(np.sum(SHARES**2))


def test_about_the_mean_the_eigenvalues_are_those_of_the_covariance():
    found = np.linalg.eigvalsh(centred_token_gram(SHARES, ANGLES))
    np.testing.assert_allclose(found, np.linalg.eigvalsh(token_law(VECTORS, SHARES).covariance)[-5:], atol=1e-12)


def test_two_tokens_of_equal_weight_give_weight_times_1_plus_and_minus_the_angle():
    assert pair_spectrum(0.4, 0.4, 0.4 * 0.3) == pytest.approx((0.4 * 1.3, 0.4 * 0.7))
    matrix = np.array([[0.5, 0.1], [0.1, 0.2]])
    assert pair_spectrum(0.5, 0.2, 0.1) == pytest.approx(np.linalg.eigvalsh(matrix)[::-1])


def test_smaller_angles_make_the_spectrum_less_even():
    assert spectral_energy(SHARES, ANGLES) == pytest.approx(np.sum(np.linalg.eigvalsh(token_gram(SHARES, ANGLES)) ** 2))
    closer = np.where(np.eye(5) > 0, 1, 0.9)
    assert spectral_energy(SHARES, closer) > spectral_energy(SHARES, np.eye(5))

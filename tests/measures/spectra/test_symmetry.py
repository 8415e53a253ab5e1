"""Symmetry and directionality against their definitions on the full matrix."""

import numpy as np
import pytest

from armillary.measures.spectra.factors import factors
from armillary.measures.spectra.symmetry import symmetry


def of(W_Q, W_K):
    made = factors(W_Q, W_K, W_Q, W_K.T)
    return symmetry(W_Q, W_K, made.R_Q, made.R_K, made.inner_qk)


def test_both_scores_are_those_of_the_full_matrix():
    rng = np.random.default_rng(0)
    W_Q, W_K = rng.standard_normal((2, 40, 6))
    W_K[3] *= 9
    W = W_Q @ W_K.T
    symmetric, skew = (W + W.T) / 2, (W - W.T) / 2
    found = of(W_Q, W_K)
    assert found.symmetry == pytest.approx(np.sum(symmetric**2) / (np.sum(symmetric**2) + np.sum(skew**2)))
    sums = []
    for axis in (1, 0):
        norms = np.linalg.norm(W, axis=axis)
        sums.append(norms[norms > norms.mean() + 2 * norms.std()].sum())
    assert found.directionality == pytest.approx((sums[1] - sums[0]) / sum(sums))


def test_symmetric_antisymmetric_and_random_matrices_score_1_0_and_a_half():
    rng = np.random.default_rng(1)
    W = rng.standard_normal((300, 8))
    assert of(W, W).symmetry == pytest.approx(1)
    turn = np.kron(np.eye(4), np.array([[0.0, 1], [-1, 0]]))
    assert of(W, W @ turn).symmetry == pytest.approx(0, abs=1e-12)
    assert of(W, rng.standard_normal((300, 8))).symmetry == pytest.approx(0.5, abs=0.01)


def test_swapping_query_and_key_turns_the_direction_around():
    rng = np.random.default_rng(2)
    W_Q, W_K = rng.standard_t(3, (2, 60, 5))
    assert of(W_K, W_Q).directionality == pytest.approx(-of(W_Q, W_K).directionality)


def test_a_zero_matrix_has_neither():
    found = of(np.zeros((10, 3)), np.ones((10, 3)))
    assert np.isnan(found.symmetry)
    assert np.isnan(found.directionality)

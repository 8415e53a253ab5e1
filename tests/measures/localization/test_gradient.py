"""The gradient of the piecewise linear transformer, against torch's automatic differentiation."""

import numpy as np
import pytest
import torch

from armillary.measures.localization.gradient import (
    active_slopes,
    gradient_norms,
    gradient_terms,
    gradient_terms_by_index,
    piecewise_loss,
)


@pytest.fixture
def given():
    rng = np.random.default_rng(3)
    walk = rng.standard_normal((8, 4)).cumsum(axis=0)
    return (walk[:-1], walk[-1], *(rng.standard_normal((3, 4, 4)) / 2), 3.0)


def test_the_gradient_is_that_of_automatic_differentiation(given):
    states, target, W_QK, W_V, W_F = (torch.tensor(each) for each in given[:-1])
    W_QK.requires_grad_(True)
    scores = states @ W_QK @ states[-1] / given[-1]
    shares = ((1 + scores - scores.mean()) / len(scores)).clamp(0, 1)
    loss = 0.5 * torch.sum((target - W_F @ (W_V @ (states.T @ shares) + states[-1])) ** 2)
    loss.backward()
    assert piecewise_loss(*given) == pytest.approx(loss.item())
    assert np.sum(gradient_terms(*given), axis=0) == pytest.approx(W_QK.grad.numpy(), abs=1e-9)


def test_sums_over_tokens_give_the_same_terms(given):
    for matrix, summed in zip(gradient_terms(*given), gradient_terms_by_index(*given), strict=True):
        assert summed == pytest.approx(matrix, abs=1e-10)


def test_tokens_beyond_a_kink_have_no_slope():
    slopes, constants = active_slopes(np.array([20.0, 0.0, -20.0]))
    assert (slopes[:, [0, 2]] == 0).all()
    assert constants.tolist() == [1.0, pytest.approx(1 / 3), 0.0]


def test_norms_are_those_of_the_mean_matrices():
    rng = np.random.default_rng(5)
    walks, (W_QK, W_V, W_F) = rng.standard_normal((6, 9, 4)).cumsum(axis=1), rng.standard_normal((3, 4, 4)) / 2
    states, targets, temperature = walks[:, :-1], walks[:, -1], 3.0
    each = [gradient_terms(x, y, W_QK, W_V, W_F, temperature) for x, y in zip(states, targets, strict=True)]
    scores = np.einsum("ctd,de,ce->ct", states, W_QK, states[:, -1]) / temperature
    inside = (np.abs(1 + scores - scores.mean(-1, keepdims=True) - 4) <= 4).mean()
    assert 0.2 < inside < 0.9  # some tokens beyond a kink, some not
    found = gradient_norms(states, scores, states @ W_V.T @ W_F.T, states[:, -1] @ W_F.T - targets, temperature)
    means = np.mean(each, axis=0)
    np.testing.assert_allclose(found, np.linalg.norm([means.sum(0), *means], axis=(1, 2)), rtol=1e-9)

"""The regulariser's gradients, against torch's automatic differentiation, and where it is least."""

import numpy as np
import pytest
import torch

from armillary.measures.localization.penalty import (
    penalty_optimum,
    scale_gradient,
    scale_penalty,
    trace_gradient,
    trace_gradient_published,
    trace_penalty,
)


@pytest.mark.parametrize(("penalty", "gradient"), [(scale_penalty, scale_gradient), (trace_penalty, trace_gradient)])
def test_gradients_are_those_of_automatic_differentiation(penalty, gradient):
    W_Q, W_K = np.random.default_rng(0).standard_normal((2, 3, 5))
    Q, K = (torch.tensor(W, requires_grad=True) for W in (W_Q, W_K))
    M = Q.T @ K
    loss = (M**2).sum() if penalty is scale_penalty else (torch.trace(M) - 1) ** 2
    loss.backward()
    assert penalty(W_Q, W_K) == pytest.approx(loss.item())
    found = gradient(W_Q, W_K)
    assert pytest.approx(Q.grad.numpy()) == found.W_Q
    assert pytest.approx(K.grad.numpy()) == found.W_K


def test_the_published_gradient_is_off_by_half_the_trace():
    W_Q, W_K = np.random.default_rng(1).standard_normal((2, 3, 5))
    right, printed = trace_gradient(W_Q, W_K), trace_gradient_published(W_Q, W_K)
    assert pytest.approx(right.W_Q * np.sum(W_Q * W_K) / 2) == printed.W_Q
    assert pytest.approx(right.W_K * np.sum(W_Q * W_K) / 2) == printed.W_K


def test_the_penalty_alone_is_least_at_its_optimum():
    c = penalty_optimum(2.0, 5.0, 4)

    def value(size):
        return 2 * scale_penalty(size * np.eye(4), np.eye(4)) + 5 * trace_penalty(size * np.eye(4), np.eye(4))

    assert value(c) < min(value(c * 1.01), value(c * 0.99))

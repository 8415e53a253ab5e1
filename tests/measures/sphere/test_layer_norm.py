"""LayerNorm in closed form, against torch's own."""

import numpy as np
import pytest
import torch

from armillary.measures.sphere.layer_norm import radius_with_eps, sphere_logits, stretch


def layer_norm(states, eps=0.0):
    return torch.nn.functional.layer_norm(torch.tensor(states), states.shape[-1:], eps=eps)


def test_small_states_stay_inside_the_sphere():
    states = np.random.default_rng(0).standard_normal((3, 32)) * np.array([[1e-3], [1e-2], [1.0]])
    norms = layer_norm(states, 1e-5).norm(dim=-1).numpy()
    assert radius_with_eps(states.var(-1), 1e-5, 32) == pytest.approx(norms)
    assert norms[0] < 0.5 * np.sqrt(32)


def test_the_derivative_loses_two_directions_and_scales_the_others_alike():
    state = np.random.default_rng(1).standard_normal(12)
    jacobian = torch.autograd.functional.jacobian(
        lambda x: torch.nn.functional.layer_norm(x, (12,), eps=0.0), torch.tensor(state)
    )
    assert stretch(state) == pytest.approx(torch.linalg.svdvals(jacobian).numpy(), abs=1e-9)


def test_logits_are_those_of_a_linear_layer_behind_the_norm():
    rng = np.random.default_rng(2)
    states, rows = rng.standard_normal((5, 16)), rng.standard_normal((7, 16))
    assert sphere_logits(states, rows) == pytest.approx((layer_norm(states) @ torch.tensor(rows).T).numpy())

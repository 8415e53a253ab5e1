"""The pilot: medians and leading directions of the first windows, massive tokens apart."""

import numpy as np
import pytest
import torch

from armillary.surveys.pilot import pilot
from synthetic import plan_for


def stretched(seed=0, contexts=8, positions=16, width=40):
    """States that vary most along the first coordinates, far from zero along the last."""
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(contexts, positions, width)) * np.exp(-np.arange(width) / 4)
    states[..., -1] += 30
    return torch.from_numpy(states)


def test_the_frame_holds_the_leading_directions_of_numpys_decomposition():
    states = stretched()
    found = pilot([states, 2 * states], plan_for(8, 16)).frame
    flat = states.flatten(0, 1).numpy()
    _, _, axes = np.linalg.svd(flat - flat.mean(0))
    for layer in (0, 1):
        directions = found.directions[layer].double().numpy()
        assert np.allclose(directions.T @ directions, np.eye(16), atol=1e-5)
        assert np.linalg.norm(directions.T @ axes[0]) == pytest.approx(1, abs=1e-6)
        assert np.linalg.norm(directions.T @ axes[3]) > 0.999
    assert np.allclose(found.centre[0], flat.mean(0))


@pytest.mark.parametrize("outliers", ["drop", "keep"])
def test_massive_tokens_turn_the_frame_only_where_they_are_kept(outliers):
    states = stretched()
    states[2, 5, 20] = 1e5
    found = pilot([states], plan_for(8, 16, outliers=outliers))
    assert found.medians[0] == pytest.approx(float(states.norm(dim=-1).median()))
    towards = float(found.frame.directions[0][20].double().norm())
    assert (towards > 0.99) == (outliers == "keep")


def test_fewer_coordinates_than_directions_are_all_kept():
    found = pilot([torch.randn(4, 6, 5, dtype=torch.float64)], plan_for(4, 6))
    assert found.frame.directions.shape == (1, 5, 5)

"""Weights taken apart along the position directions of a run."""

import numpy as np
import pytest

import armillary as arm
from armillary.errors import RequestError


def test_every_head_is_dissected(learned):
    view, run = learned
    found = arm.weight_dissection(view, run, rank=5)
    total = found.energy_position + found.energy_diagonal + found.energy_residual
    assert total.dims == ("block", "head")
    assert np.allclose(total, 1)
    heads = view.heads(1)
    W = (heads.scale * heads.W_Q[3].double() @ heads.W_K[3].double().T).numpy()
    assert float(found.energy_diagonal[1, 3]) == pytest.approx(np.sum(np.diag(W) ** 2) / np.sum(W**2))
    directions = np.linalg.svd(run.results["attention"].position_basis.values[1])[2][:5]
    block = directions @ (W - np.diag(np.diag(W))) @ directions.T
    assert float(found.energy_position[1, 3]) == pytest.approx(np.sum(block**2) / np.sum(W**2))


def test_a_rank_that_the_model_lacks_is_refused(view, run):
    with pytest.raises(RequestError, match="expected a rank from 1 to 32, got 99"):
        arm.weight_dissection(view, run, rank=99)

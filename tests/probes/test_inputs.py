"""What a run knows of attention inputs, and inputs split by it."""

import numpy as np
import pytest
import torch

import armillary as arm
from armillary.errors import RequestError
from armillary.probes.inputs import Known, all_known, input_parts, known_parts


def test_the_parts_are_what_the_run_found(view, run, windows):
    known = known_parts(view, run, 1, 10)
    node = run.results["attention"].to_dataset().isel(block=1)
    assert np.array_equal(known.mean, node["mean"])
    assert np.array_equal(known.position[1:], node.position_basis[:9])
    assert np.allclose(known.position[0], node["first"] - node["mean"])
    assert known.measured.tolist() == list(range(1, 10))
    assert known.apart


def test_a_run_without_attention_inputs_is_refused(view, windows):
    narrow = arm.survey(view, windows, sites="residual", progress=False)
    with pytest.raises(RequestError, match="--sites all"):
        arm.constituents(view, narrow, windows[0], block=0)


def test_every_block_is_known_by_its_own_mean(view, run):
    known = all_known(view, run, 8)
    assert len(known) == view.n_blocks
    assert np.array_equal([block.mean for block in known], run.results["attention"]["mean"])
    assert all(block.position.shape == (8, view.d_model) for block in known)


def test_mean_position_and_residual_add_up_to_the_input():
    draw = np.random.default_rng(0)
    known = Known(draw.standard_normal(4), draw.standard_normal((6, 4)), np.arange(6), apart=False)
    x = torch.from_numpy(draw.standard_normal((5, 4)))
    mean, position, residual = input_parts(x, known)
    assert torch.allclose(mean + position + residual, x)
    assert np.array_equal(position.numpy(), known.position[:5])
    assert np.array_equal(mean.numpy(), np.broadcast_to(known.mean, (5, 4)))

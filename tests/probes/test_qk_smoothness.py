"""The smoothness of positions and logits is that of the matrices written out."""

import numpy as np

import armillary as arm
from armillary.measures.constituents import argmax_share
from armillary.measures.smoothness import low_frequency_share
from armillary.models.attention import products


def test_smoothness_is_that_of_the_matrices_written_out(learned, calls_of):
    view, run = learned
    found = arm.qk_smoothness(view, run, windows=4)
    node = run.results["attention"].to_dataset().isel(block=1)
    heads, position = view.heads(1), node.position_basis.values
    W = (heads.scale * heads.W_Q[2].double() @ heads.W_K[2].double().T).numpy()
    expected = low_frequency_share(position @ W @ position.T)
    assert np.allclose(found.low_frequency_share_weighted.isel(block=1, head=2), expected)
    with_mean = position + node["mean"].values
    query = with_mean @ heads.W_Q[2].double().numpy() + heads.b_Q[2].double().numpy()
    key = with_mean @ heads.W_K[2].double().numpy() + heads.b_K[2].double().numpy()
    assert float(found.argmax_share.isel(block=1, head=2)) == argmax_share(query @ key.T)
    tokens = run.results["corpus"].tokens.values[[0, 8, 15, 23]]
    logits = [low_frequency_share(products(calls_of(view, ids)[1])[0, 2, 1:, 1:].double().numpy()) for ids in tokens]
    assert np.allclose(found.low_frequency_share_logits.isel(block=1, head=2), np.mean(logits, 0), atol=1e-6)
    assert np.allclose(found.low_frequency_share_gram.isel(frequency=15), 1)
    assert float(found.low_frequency_share_logits_se.max()) > 0


def test_smoothness_under_rotation_is_that_of_the_rotated_position_part(view, run, windows):
    found = arm.qk_smoothness(view, run, windows=2)
    parts = arm.constituents(view, run, windows[0], block=1).values[:, :, :, 1:, 1:]
    for head in range(4):
        expected = low_frequency_share(parts[head, 1, 1])
        assert np.allclose(found.low_frequency_share_weighted.isel(block=1, head=head), expected)
        with_mean = parts[head, :2, :2].sum((0, 1))
        assert float(found.argmax_share.isel(block=1, head=head)) == argmax_share(with_mean)

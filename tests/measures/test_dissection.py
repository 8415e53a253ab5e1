"""Weights taken apart: energies against the matrix written out, nulls against simulation, planted structure found."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.measures.dissection import dissection, position_frame, random_frame


def factors(seed, d_model=24, d_head=6):
    return np.random.default_rng(seed).standard_normal((2, d_model, d_head))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 24))
def test_the_three_energies_add_up_and_are_those_of_the_whole_matrix(seed, rank):
    W_Q, W_K = factors(seed)
    frame, null = random_frame(24, 24, 1), random_frame(24, 24, 2)
    found = dissection(W_Q, W_K, frame, null, rank)
    W = W_Q @ W_K.T
    off = W - np.diag(np.diag(W))
    turned = frame.T @ off @ frame
    assert found.energy_position + found.energy_diagonal + found.energy_residual == pytest.approx(1)
    assert found.energy_position == pytest.approx(np.sum(turned[:rank, :rank] ** 2) / np.sum(W**2))
    assert found.energy_diagonal == pytest.approx(np.sum(np.diag(W) ** 2) / np.sum(W**2))
    large = np.abs(turned) > found.threshold
    assert found.survivors_position == large[:rank, :rank].sum()
    assert found.survivors_position + found.survivors_elsewhere == large.sum()
    assert found.threshold == pytest.approx(np.quantile(np.abs(null.T @ off @ null), 0.999))


def test_the_closed_forms_of_the_null_are_the_means_over_random_frames():
    W_Q, W_K = factors(7)
    W_K = W_K + 0.7 * W_Q
    W = W_Q @ W_K.T
    null = random_frame(24, 24, 0)
    blocks, diagonals = [], []
    for seed in range(3000):
        frame = random_frame(24, 24, seed)
        blocks.append(np.sum((frame[:, :5].T @ (W - np.diag(np.diag(W))) @ frame[:, :5]) ** 2))
        diagonals.append(np.sum(np.diag(frame.T @ W @ frame) ** 2))
    found = dissection(W_Q, W_K, null, null, 5)
    for null_mean, drawn in ((found.energy_position_null, blocks), (found.energy_diagonal_null, diagonals)):
        drawn = np.array(drawn) / np.sum(W**2)
        assert abs(null_mean - drawn.mean()) < 4 * drawn.std() / np.sqrt(len(drawn))


def test_a_planted_position_block_and_diagonal_are_found_and_noise_alone_is_not():
    draw = np.random.default_rng(0)
    d_model, rank = 96, 4
    basis = draw.standard_normal((40, rank)) @ draw.standard_normal((rank, d_model))
    frame, null = position_frame(basis), random_frame(d_model, d_model, 3)
    noise = 0.02 * draw.standard_normal((2, d_model, d_model))
    directions = frame[:, :rank]
    signs = np.diag(draw.choice([-0.3, 0.3], d_model))
    planted = dissection(
        np.hstack([3 * directions, np.eye(d_model), noise[0]]),
        np.hstack([directions, signs, noise[1]]),
        frame, null, rank,
    )  # fmt: skip
    alone = dissection(noise[0], noise[1], frame, null, rank)
    assert planted.energy_position > 20 * planted.energy_position_null
    assert planted.energy_diagonal > 3 * planted.energy_diagonal_null
    assert planted.survivors_position >= rank
    assert alone.energy_position == pytest.approx(alone.energy_position_null, rel=1)
    assert alone.survivors_position <= 1
    assert alone.survivors_elsewhere == pytest.approx(alone.survivors_elsewhere_null, abs=12)


def test_the_frame_is_orthonormal_complete_and_begins_with_the_position_directions():
    basis = np.random.default_rng(1).standard_normal((7, 12))
    frame = position_frame(basis)
    assert np.allclose(frame.T @ frame, np.eye(12))
    assert np.allclose(basis @ frame[:, 7:], 0)
    lengths = np.linalg.norm(basis @ frame, axis=0)
    assert (np.diff(lengths) < 1e-9).all()


def test_weights_of_nothing_but_zeros_have_no_shares():
    zeros = np.zeros((8, 2))
    assert np.isnan(dissection(zeros, zeros, np.eye(8), np.eye(8), 3)).all()


def test_a_multiple_of_the_identity_is_diagonal_by_chance_too():
    found = dissection(np.eye(10), 3 * np.eye(10), np.eye(10), random_frame(10, 10, 0), 4)
    assert found.energy_diagonal == pytest.approx(1)
    assert found.energy_diagonal_null == pytest.approx(1)
    assert found.energy_position == pytest.approx(0)

"""The split of states and of their variance: identities, floors against simulations, holes against least squares."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from armillary.measures.decomposition import decomposition, filled_cells, variance

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(2, 7)


def shares(states, groups=2):
    """The variance of a full table, as a survey would ask for it."""
    mean, position, context, _ = decomposition(states)
    index = np.arange(len(states)) * groups // len(states)
    squares = np.array([np.sum((states[index == g] - mean) ** 2) for g in range(groups)])
    return variance(position, context, squares)


@settings(max_examples=60, deadline=None)
@given(seeds, sizes, sizes, sizes)
def test_the_parts_add_up_and_each_sums_to_zero(seed, contexts, positions, width):
    states = np.random.default_rng(seed).normal(5, 3, (contexts, positions, width))
    mean, position, context, residual = decomposition(states)
    assert np.allclose(mean + position[None] + context[:, None] + residual, states)
    for part, axis in ((position, 0), (context, 0), (residual, 0), (residual, 1)):
        assert np.abs(part.sum(axis)).max() < 1e-10


@settings(max_examples=60, deadline=None)
@given(seeds, sizes, sizes, sizes)
def test_squares_split_without_remainder(seed, contexts, positions, width):
    states = np.random.default_rng(seed).normal(5, 3, (contexts, positions, width))
    mean, position, context, residual = decomposition(states)
    energy = np.array([contexts * np.sum(position**2), positions * np.sum(context**2), np.sum(residual**2)])
    assert energy.sum() == pytest.approx(np.sum((states - mean) ** 2))
    assert np.allclose(shares(states).share, energy / energy.sum(), atol=1e-12)


def test_the_parts_are_those_of_plain_loops():
    states = np.random.default_rng(0).normal(size=(4, 3, 2))
    mean, position, context, _ = decomposition(states)
    for d in range(2):
        grand = sum(states[c, t, d] for c in range(4) for t in range(3)) / 12
        assert mean[d] == pytest.approx(grand)
        for t in range(3):
            assert position[t, d] == pytest.approx(sum(states[c, t, d] for c in range(4)) / 4 - grand)
        for c in range(4):
            assert context[c, d] == pytest.approx(sum(states[c, t, d] for t in range(3)) / 3 - grand)


def noise(rng, contexts, positions, width, rho):
    """Stationary AR(1) noise along each context's text, unit variance."""
    drawn = rng.normal(size=(contexts, positions, width))
    drawn[:, 1:] *= np.sqrt(1 - rho**2)
    return lfilter([1], [1, -rho], drawn, axis=1)


def position_share_and_floor(rho, replicates=300, contexts=12, positions=30, width=8):
    rng = np.random.default_rng(2)
    each = [shares(noise(rng, contexts, positions, width, rho)) for _ in range(replicates)]
    return np.array([(one.share[0], one.share_floor[0]) for one in each])


def test_the_position_floor_is_what_white_noise_gives():
    found = position_share_and_floor(0.0)
    share, floor = found.mean(0)
    assert floor == pytest.approx(share, rel=0.02)
    assert share == pytest.approx((30 - 1) / (12 * 30 - 1), rel=0.02)


def test_the_position_floor_is_what_smooth_noise_gives_and_the_independent_formula_is_not():
    found = position_share_and_floor(0.9)
    share, floor = found.mean(0)
    assert floor == pytest.approx(share, rel=0.04)
    assert abs((30 - 1) / (12 * 30 - 1) / share - 1) > 0.25


def test_a_context_effect_does_not_move_the_position_floor():
    rng = np.random.default_rng(3)
    each = []
    for _ in range(300):
        states = noise(rng, 12, 30, 8, 0.9) + 3 * rng.normal(size=(12, 1, 8))
        each.append([shares(states).share[0], shares(states).share_floor[0]])
    share, floor = np.mean(each, 0)
    assert floor == pytest.approx(share, rel=0.04)


def test_the_context_floor_is_the_share_after_tokens_are_dealt_anew():
    rng = np.random.default_rng(4)
    states = noise(rng, 16, 20, 10, 0.9) + rng.normal(size=(20, 10)) + 2 * rng.normal(size=(16, 1, 10))
    floor = shares(states).share_floor[1]
    dealt = []
    for _ in range(400):
        anew = np.stack([states[rng.permutation(16), t] for t in range(20)], 1)
        dealt.append(shares(anew).share[1])
    assert abs(np.mean(dealt) - floor) < 3 * np.std(dealt) / 20
    assert shares(states).share[1] > 3 * floor


def test_the_residual_has_no_floor_and_holes_take_degrees_of_freedom():
    states = np.random.default_rng(5).normal(size=(8, 6, 3))
    _, position, context, _ = decomposition(states)
    squares = np.array([np.sum((states - states.mean((0, 1))) ** 2)])
    without, holed = variance(position, context, squares), variance(position, context, squares, 7)
    assert np.isnan(without.share_floor[2])
    assert np.array_equal(without.share, holed.share)
    assert holed.share_floor[0] == pytest.approx(without.share_floor[0] * (7 * 5) / (7 * 5 - 7))
    assert holed.share_floor[1] == without.share_floor[1]


def least_squares(table, known):
    """The additive fit to the known cells, the dense way."""
    rows, columns = known.shape
    design = np.concatenate([np.repeat(np.eye(rows), columns, 0), np.tile(np.eye(columns), (rows, 1))], 1)
    fit, *_ = np.linalg.lstsq(design[known.ravel()], table.reshape(-1, table.shape[-1])[known.ravel()], rcond=None)
    return (design @ fit).reshape(table.shape)


def connected(known):
    """Whether the additive model is determined: its design has full rank but for the one constant."""
    rows, columns = known.shape
    design = np.concatenate([np.repeat(np.eye(rows), columns, 0), np.tile(np.eye(columns), (rows, 1))], 1)
    return np.linalg.matrix_rank(design[known.ravel()]) == rows + columns - 1


@settings(max_examples=60, deadline=None)
@given(seeds, st.floats(0, 0.3))
def test_fills_lie_on_the_least_squares_fit_with_up_to_a_third_of_the_cells_missing(seed, missing):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(10, 8, 3)) + rng.normal(size=(10, 1, 3)) * 5 + rng.normal(size=(1, 8, 3)) * 5 + 100
    known = np.ones(80, bool)
    known[rng.choice(80, int(80 * missing), replace=False)] = False
    known = known.reshape(10, 8)
    if not connected(known):
        return
    kept = table * known[..., None]
    contexts, positions = np.nonzero(~known)
    fill = filled_cells(kept.sum(1), kept.sum(0), contexts, positions)
    assert np.allclose(fill, least_squares(table, known)[~known], atol=1e-8)
    kept[~known] = fill
    residual = decomposition(kept).residual
    assert np.abs(residual[~known]).max(initial=0) < 1e-8


def test_fills_of_an_additive_table_restore_it():
    rng = np.random.default_rng(6)
    table = rng.normal(size=(9, 1, 2)) + rng.normal(size=(1, 7, 2))
    known = rng.random((9, 7)) > 0.3
    assert connected(known)
    kept = table * known[..., None]
    fill = filled_cells(kept.sum(1), kept.sum(0), *np.nonzero(~known))
    assert np.allclose(fill, table[~known], atol=1e-9)


def test_no_hole_is_no_fill():
    none = np.array([], dtype=np.int64)
    assert filled_cells(np.ones((3, 2)), np.ones((4, 2)), none, none).shape == (0, 2)

"""The filled table against a dense one: every identity of the decomposition, with and without holes."""

import numpy as np
import pytest
import torch
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.errors import RequestError
from armillary.measures.decomposition import decomposition, filled_cells, variance
from armillary.results.measuring import measured
from armillary.surveys.tables import captured_groups


def dense(plan, states, holes):
    """The full table with its holes filled by least squares on the additive model, the slow way."""
    contexts, positions, width = states.shape
    design = np.concatenate(
        [
            np.ones((contexts * positions, 1)),
            np.repeat(np.eye(contexts), positions, 0),
            np.tile(np.eye(positions), (contexts, 1)),
        ],
        1,
    )
    known = np.ones((contexts, positions), bool)
    for context, column in holes:
        known[context, column] = False
    flat = states.reshape(-1, width).copy()
    fit, *_ = np.linalg.lstsq(design[known.ravel()], flat[known.ravel()], rcond=None)
    flat[~known.ravel()] = (design @ fit)[~known.ravel()]
    return flat.reshape(states.shape)


def surveyed(synthetic, seed, n_holes, contexts=12, positions=6, width=5, layers=2, scale=1.0):
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(layers, contexts, positions + 1, width)) * scale
    states += rng.normal(size=(1, 1, positions + 1, width)) + rng.normal(size=(1, contexts, 1, width)) + 2
    cells = rng.choice(contexts * positions, n_holes, replace=False)
    holes = [(int(c) // positions, int(c) % positions) for c in cells]
    hidden = states.copy()
    for context, column in holes:
        hidden[:, context, column + 1] = 1e4
    plan = synthetic.plan(contexts, positions, groups=4, batch=5, seed=seed)
    rule = torch.full((layers,), 10.0, dtype=torch.float64)
    tables = torch.from_numpy(hidden)
    first = synthetic.pilot(tables, rule)  # before tokens are blanked in place
    state = synthetic.state(tables, plan, rule, attention=tables[:1] * 2)
    assert sorted((c, p - 1) for c, p, _ in state.outliers.tokens) == sorted(holes)
    groups = captured_groups(state, plan, first, attention=True)
    full = np.stack([dense(plan, table[:, 1:], holes) for table in states])
    return groups, full, plan


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 6))
def test_the_decomposition_is_that_of_the_filled_table(synthetic_session, seed, n_holes):
    groups, full, plan = surveyed(synthetic_session, seed, n_holes)
    residual = groups["residual"]
    sizes = np.bincount(plan.groups)
    for layer, states in enumerate(full):
        mean, position, context, rest = decomposition(states)
        one = residual.isel(layer=layer)
        assert np.allclose(one["mean"], mean, atol=1e-9)
        assert np.allclose(one.position_basis, position, atol=1e-9)
        assert np.allclose(one.context_basis, context, atol=1e-9)
        assert np.abs(one.position_basis.sum("position")).max() < 1e-9
        assert np.abs(one.context_basis.sum("context")).max() < 1e-9
        assert np.abs(rest.sum(0)).max() < 1e-9
        assert np.abs(rest.sum(1)).max() < 1e-9
        centred = states - mean
        squares = [np.sum(centred[plan.groups == g] ** 2) for g in range(len(sizes))]
        assert np.allclose(one.squares, squares, rtol=1e-9)
        assert np.allclose(one.covariance, np.einsum("ctd,cte->de", centred, centred) / rest[..., 0].size, atol=1e-5)
        folds = min(8, len(sizes))
        folded = np.stack([centred[plan.groups % folds == fold].mean(0) for fold in range(folds)])
        assert np.allclose(one.position_folds, folded, atol=1e-5)
        assert np.linalg.eigvalsh(one.leading_groups.sum("group"))[-1] == pytest.approx(
            np.linalg.norm(centred.reshape(-1, centred.shape[-1]), 2) ** 2, rel=1e-5
        )  # five directions hold all that varies in five dimensions
        own = [np.linalg.norm(centred[plan.groups == g].reshape(-1, 5), 2) ** 2 for g in range(len(sizes))]
        assert np.allclose(np.linalg.eigvalsh(one.leading_groups)[:, -1], own, rtol=1e-5)
    assert int(residual.holes) == n_holes


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 6))
def test_the_three_shares_sum_to_one_and_are_those_of_the_filled_table(synthetic_session, seed, n_holes):
    groups, full, _ = surveyed(synthetic_session, seed, n_holes)
    for layer, states in enumerate(full):
        one = groups["residual"].isel(layer=layer)
        share = variance(one.position_basis.values, one.context_basis.values, one.squares.values, n_holes).share
        _, position, context, rest = decomposition(states)
        energy = np.array([12 * np.sum(position**2), 6 * np.sum(context**2), np.sum(rest**2)])
        assert share.sum() == pytest.approx(1, abs=1e-12)
        assert np.allclose(share, energy / energy.sum(), atol=1e-9)


def test_the_null_is_the_mean_of_circularly_shifted_windows(synthetic):
    groups, full, plan = surveyed(synthetic, 3, 0)
    shifted = np.stack([np.roll(full[:, c], plan.shifts[c], 1) for c in range(12)], 1)
    expected = shifted.mean(1) - full.mean((1, 2))[:, None]
    assert np.allclose(groups["residual"].position_null, expected, atol=1e-9)
    assert np.allclose(groups["attention"].position_null[0], expected[0] * 2, atol=1e-9)


def test_a_state_that_is_made_into_tables_keeps_its_dicts_and_gives_back_the_memory_of_its_sums(synthetic):
    plan = synthetic.plan(8, 5)
    states = torch.randn(2, 8, 6, 4, dtype=torch.float64)
    state = synthetic.state(states, plan)
    tables = state.residual.positions.sums, state.residual.contexts.sums
    before = [dict(table) for table in tables]
    captured_groups(state, plan, synthetic.pilot(states), attention=False)
    for table, content in zip(tables, before, strict=True):
        assert table.keys() == content.keys()
        assert all(table[key] is tensor and not tensor.numel() for key, tensor in content.items())


def test_position_zero_is_kept_apart_as_first(synthetic):
    plan = synthetic.plan(8, 5)
    states = torch.randn(2, 8, 6, 4, dtype=torch.float64)
    state = synthetic.state(states, plan)
    groups = captured_groups(state, plan, synthetic.pilot(states), attention=False)
    assert np.allclose(groups["residual"]["first"], states[:, :, 0].mean(1))
    assert groups["residual"].position.values.tolist() == [1, 2, 3, 4, 5]


def test_a_kept_position_zero_is_never_a_column_of_holes(synthetic):
    plan = synthetic.plan(8, 5, first="keep")
    states = torch.randn(2, 8, 6, 4, dtype=torch.float64)
    states[:, :, 0] *= 1e4
    state = synthetic.state(states, plan)
    groups = captured_groups(state, plan, synthetic.pilot(states), attention=False)
    assert groups["residual"].position.values.tolist() == [0, 1, 2, 3, 4, 5]
    assert not state.outliers.tokens
    assert "first" not in groups["residual"]


def test_kept_outliers_are_named_and_counted_in(synthetic):
    plan = synthetic.plan(8, 5, outliers="keep")
    states = torch.randn(2, 8, 6, 4, dtype=torch.float64)
    states[1, 3, 2] = 1e3
    first, state = synthetic.pilot(states), synthetic.state(states, plan)
    groups = captured_groups(state, plan, first, attention=False)
    assert [(c, p) for c, p, _ in state.outliers.tokens] == [(3, 2)]
    assert int(groups["residual"].holes) == 0
    assert np.allclose(groups["residual"]["mean"], states[:, :, 1:].mean((1, 2)))


def test_a_window_with_nothing_left_is_refused(synthetic):
    plan = synthetic.plan(8, 5)
    states = torch.randn(1, 8, 6, 4, dtype=torch.float64)
    states[:, 2] = 1e4
    with pytest.raises(
        RequestError, match=r"^expected a token at every .*, got none at window 2 after .*: read more .*--outliers keep"
    ):
        captured_groups(synthetic.state(states, plan), plan, synthetic.pilot(states), attention=False)


def test_the_fill_of_one_hole_is_yates_formula():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(5, 4))
    table[2, 1] = 0
    rows, columns = table.sum(1)[:, None], table.sum(0)[:, None]
    fill = filled_cells(rows, columns, np.array([2]), np.array([1]))
    yates = (5 * rows[2] + 4 * columns[1] - table.sum()) / (4 * 3)
    assert fill[0] == pytest.approx(yates)


def test_every_measure_of_the_schema_comes_out_of_a_survey(synthetic):
    from armillary.results.schema import GROUPS

    groups, _, plan = surveyed(synthetic, 1, 2)
    documents = np.arange(len(plan.groups)) // 2
    groups["corpus"] = xr.Dataset({"group": ("context", plan.groups), "document_index": ("context", documents)})
    results = measured(groups)
    assert {"position", "context", "depth"} <= set(results)
    for name, group in GROUPS.items():
        if group.measures and group.inputs[0] in groups:
            assert set(results[name].data_vars) == set(group.variables)
            for variable, row in group.variables.items():
                assert results[name][variable].dims == row.axes

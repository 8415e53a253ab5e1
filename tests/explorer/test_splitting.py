"""A prompt is split by the run's own rule: what the run keeps is counted, what it drops is not."""

import numpy as np
import pytest
import xarray as xr

import made_up
from armillary.explorer.splitting import counted_tokens, prompt_split
from armillary.measures.massive import TIMES

LAYERS, TOKENS = 5, 8
HUGE = 1.5 * TIMES


def run_with(outliers, *, first="drop", threshold=TIMES):
    """A run with median norms of 1 that keeps or drops massive tokens and position 0."""
    results = made_up.run_of(layers=LAYERS)
    start = 0 if first == "keep" else 1
    residual = results["residual"].to_dataset()
    residual = residual.assign_coords(position=np.arange(start, start + residual.sizes["position"]))
    rule = results["outliers"].to_dataset().assign(median_norm=("layer", np.ones(LAYERS)), threshold=((), threshold))
    groups = {f"/{name}": node.to_dataset() for name, node in results.children.items()}
    changed = xr.DataTree.from_dict(groups | {"/residual": residual, "/outliers": rule})
    changed.attrs.update(results.attrs | {"outliers": outliers, "first": first})
    return changed


def norms_with(**huge):
    """Norms of 1, but for one token that is huge in one layer alone."""
    norms = np.ones((LAYERS, TOKENS))
    for layer, token in huge.values():
        norms[layer, token] = HUGE
    return norms


def counted(results, norms):
    return np.flatnonzero(counted_tokens(results, norms)).tolist()


def test_a_run_that_drops_massive_tokens_does_not_count_them():
    assert counted(run_with("drop"), norms_with(one=(2, 4))) == [1, 2, 3, 5, 6, 7]


def test_a_run_that_keeps_massive_tokens_counts_them():
    assert counted(run_with("keep"), norms_with(one=(2, 4))) == [1, 2, 3, 4, 5, 6, 7]


def test_a_run_that_keeps_position_0_counts_it_even_where_it_is_30_times_the_median():
    assert HUGE == 30
    results = run_with("drop", first="keep")
    assert counted(results, norms_with(sink=(2, 0), one=(3, 4))) == [0, 1, 2, 3, 5, 6, 7]


def test_a_run_that_drops_position_0_does_not_count_it():
    assert counted(run_with("keep"), norms_with()) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(("threshold", "kept"), [(HUGE + 1, True), (HUGE - 1, False)])
def test_the_threshold_is_the_one_that_the_run_recorded(threshold, kept):
    assert (4 in counted(run_with("drop", threshold=threshold), norms_with(one=(2, 4)))) == kept


def test_the_shares_of_a_prompt_are_over_the_counted_tokens_and_sum_to_one():
    rng = np.random.default_rng(0)
    results = run_with("drop")
    states = rng.normal(size=(LAYERS, TOKENS, 16))
    states /= np.linalg.norm(states, axis=-1, keepdims=True)
    states[2, 4] *= HUGE
    split = prompt_split(results, states)
    assert split.counted.tolist() == [1, 2, 3, 5, 6, 7]
    assert np.allclose(split.share.sum(-1), 1)
    centred = states[2, split.counted] - results["residual"]["mean"].values[2]
    basis = results["residual"]["position_basis"].values[2][split.counted - 1]
    context = (centred - basis).mean(0) @ centred.sum(0)
    assert split.share[2, :2] == pytest.approx(np.array([np.sum(basis * centred), context]) / np.sum(centred**2))


def test_a_prompt_without_a_counted_token_has_no_shares():
    split = prompt_split(run_with("drop"), np.full((LAYERS, TOKENS, 16), HUGE))
    assert split.counted.size == 0
    assert np.isnan(split.share).all()

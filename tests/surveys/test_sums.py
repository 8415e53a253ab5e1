"""The laws of every accumulator: any split, any order of merging, the same numbers as plain numpy."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.surveys.checkpoint import flattened
from armillary.surveys.sums.batch import Batch, blanked, lengths
from armillary.surveys.sums.outliers import Outliers
from armillary.surveys.sums.sample import Sample
from armillary.surveys.sums.state import State, Stream

CONTEXTS, POSITIONS, WIDTH, SITES = 9, 5, 7, 2


def cloud(seed, offset):
    rng = np.random.default_rng(seed)
    states = torch.from_numpy(rng.normal(size=(SITES, CONTEXTS, POSITIONS, WIDTH)) + offset)
    kept = torch.from_numpy(rng.random((CONTEXTS, POSITIONS)) > 0.2)
    groups = tuple(sorted(int(g) for g in rng.integers(3, size=CONTEXTS)))
    shifts = tuple(int(t) for t in rng.integers(POSITIONS, size=CONTEXTS))
    tokens = torch.from_numpy(rng.integers(50, size=(CONTEXTS, POSITIONS)))
    return states, kept, groups, shifts, tokens


def batch(data, rows):
    states, kept, groups, shifts, _ = data
    there = tuple(states[site, rows] for site in range(SITES))
    return Batch(
        norms=torch.stack([lengths(site) for site in there]),
        states=blanked(there, kept[rows]),
        kept=kept[rows],
        contexts=tuple(rows),
        groups=tuple(groups[row] for row in rows),
        shifts=tuple(shifts[row] for row in rows),
        first=states[:, rows, 0],
    )


def state(data, rows, onto=None):
    one = batch(data, rows)
    drawn = frozenset((context, 2) for context in range(CONTEXTS))
    found = Outliers(tuple((c, 1, 0) for c in one.contexts), tuple(torch.ones(SITES) for _ in one.contexts))
    states, kept, _, _, tokens = data
    sample = Sample.of(tuple(states[:, rows]), tokens[rows], ~kept[rows], one.contexts, 1, drawn)
    return State(
        onto.residual.extended(one) if onto else Stream.of(one, scatter=True),
        onto.attention.extended(one) if onto else Stream.of(one, scatter=False),
        onto.outliers.merge(found) if onto else found,
        onto.sample.merge(sample) if onto else sample,
    )


def canonical(whole: State) -> dict[str, torch.Tensor]:
    """Every number of a state, rows in the order of the windows."""
    tensors: dict[str, torch.Tensor] = {}
    for name, stream in (("residual", whole.residual), ("attention", whole.attention)):
        chunks = sorted(stream.contexts.sums)
        order = np.argsort([context for chunk in chunks for context in stream.contexts.order[chunk]])
        tensors[f"{name}/rows"] = torch.cat([stream.contexts.sums[chunk] for chunk in chunks], 1)[:, order]
        if stream.scatter is not None:
            tensors[f"{name}/scatter"] = stream.scatter.matrix
            tensors[f"{name}/mean"] = stream.scatter.mean
        for part in (stream.positions, stream.null, stream.spread, stream.norms, stream.first):
            flattened(part, f"{name}/{type(part).__name__}/{len(tensors)}", tensors)
        for group, count in stream.spread.counts.items():
            tensors[f"{name}/count/{group}"] = torch.tensor(count)
    order = np.argsort([token[0] for token in whole.sample.tokens], kind="stable")
    tensors["sample"] = torch.cat(whole.sample.states, 1)[:, order]
    return tensors


def assert_same(ours: State, theirs: State) -> None:
    ours, theirs = canonical(ours), canonical(theirs)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        scale = max(float(theirs[name].double().abs().max()), 1.0)
        assert float((value.double() - theirs[name].double()).abs().max()) <= 1e-9 * scale, name


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000), st.lists(st.integers(0, 3), min_size=CONTEXTS, max_size=CONTEXTS), st.permutations(range(4))
)
def test_any_split_and_any_order_of_merging_gives_the_same_state(seed, split, order):
    data = cloud(seed, offset=3.0)
    parts = [[row for row in range(CONTEXTS) if split[row] == part] for part in order]
    states = [state(data, rows) for rows in parts if rows]
    merged = states[0]
    for other in states[1:]:
        merged = merged.merge(other)
    assert_same(merged, state(data, list(range(CONTEXTS))))
    left = states[-1]
    for other in reversed(states[:-1]):
        left = other.merge(left)
    assert_same(left, merged)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, CONTEXTS - 1))
def test_absorbing_a_state_is_merging_it(seed, cut):
    data = cloud(seed, offset=1.0)
    rows = list(range(CONTEXTS))
    merged = state(data, rows[:cut]).merge(state(data, rows[cut:]))
    assert_same(state(data, rows[:cut]).absorbed(state(data, rows[cut:])), merged)
    assert_same(state(data, rows[:cut]).packed().absorbed(state(data, rows[cut:])).packed(), merged)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, CONTEXTS - 1))
def test_adding_a_batch_onto_a_state_is_merging_it(seed, cut):
    data = cloud(seed, offset=-2.0)
    rows = list(range(CONTEXTS))
    merged = state(data, rows[:cut]).merge(state(data, rows[cut:]))
    assert_same(state(data, rows[cut:], onto=state(data, rows[:cut])), merged)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_the_sums_are_those_of_plain_numpy(offset):
    data = cloud(5, offset)
    states, kept, groups, shifts, _ = (np.asarray(part) for part in data)
    whole = state(data, list(range(CONTEXTS))).residual
    weights = kept[None, :, :, None]
    for group in set(groups.tolist()):
        mine = groups == group
        assert np.allclose(whole.positions.sums[group], (states * weights)[:, mine].sum(1), rtol=1e-12)
        assert np.array_equal(whole.positions.counts[group], kept[mine].sum(0))
        tokens = [states[:, mine][:, kept[mine]]][0]
        squares = ((tokens - tokens.mean(1, keepdims=True)) ** 2).sum((1, 2))
        assert np.allclose(whole.spread.squares[group], squares, rtol=1e-6)
        norms = np.linalg.norm(states, axis=-1) * kept
        assert np.allclose(whole.norms.sums[group], norms[:, mine].sum(1), rtol=1e-12)
    rolled = sum(np.roll((states * weights)[:, c], shifts[c], 1) for c in range(CONTEXTS))
    assert np.allclose(whole.null.sums, rolled, rtol=1e-12)
    tokens = states[:, kept]
    centred = tokens - tokens.mean(1, keepdims=True)
    assert np.allclose(whole.scatter.matrix, np.einsum("snd,sne->sde", centred, centred), rtol=1e-9, atol=1e-6)
    assert np.allclose(whole.norms.largest, np.linalg.norm(states, axis=-1).max(1))
    assert np.allclose(whole.first.sums, states[:, :, 0].sum(1))


def test_tokens_left_out_are_blanked_in_place():
    states, kept, *_ = cloud(1, 0.0)
    before = states.clone()
    blanked(tuple(states), kept)
    assert torch.equal(states[:, kept], before[:, kept])
    assert bool((states[:, ~kept] == 0).all())

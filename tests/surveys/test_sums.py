"""The laws of every accumulator: any split, any order of merging, the same numbers as plain numpy."""

from dataclasses import dataclass, fields, is_dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.attention.reading import HeadStatistics
from armillary.surveys.checkpoint import flattened, rebuilt
from armillary.surveys.sums.batch import Batch, blanked, lengths
from armillary.surveys.sums.frame import Frame
from armillary.surveys.sums.heads import Heads
from armillary.surveys.sums.outliers import Outliers
from armillary.surveys.sums.sample import Sample
from armillary.surveys.sums.state import Increment, State

CONTEXTS, POSITIONS, WIDTH, SITES = 9, 5, 7, 2
ALL = list(range(CONTEXTS))

seeds = st.integers(0, 10_000)
cuts = st.lists(st.sampled_from(["", "batch", "shard"]), min_size=CONTEXTS - 1, max_size=CONTEXTS - 1)
choices = st.lists(st.integers(0, 100), min_size=CONTEXTS, max_size=CONTEXTS)


@dataclass(frozen=True)
class Cloud:
    """What a pass would read: states, left-out tokens, groups, shifts, tokens, and what the heads do."""

    states: torch.Tensor
    kept: torch.Tensor
    groups: tuple[int, ...]
    shifts: tuple[int, ...]
    tokens: torch.Tensor
    heads: dict[str, torch.Tensor]


FRAME = Frame(
    torch.full((SITES, WIDTH), 3.0, dtype=torch.float64),
    torch.linalg.qr(torch.randn(SITES, WIDTH, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)).Q,
)


def cloud(seed, offset=0.0):
    rng = np.random.default_rng(seed)
    states = torch.from_numpy(rng.normal(size=(SITES, CONTEXTS, POSITIONS, WIDTH)) + offset)
    kept = torch.from_numpy(rng.random((CONTEXTS, POSITIONS)) > 0.2)
    groups = tuple(sorted(int(g) for g in rng.integers(3, size=CONTEXTS)))
    shifts = tuple(int(t) for t in rng.integers(POSITIONS, size=CONTEXTS))
    tokens = torch.from_numpy(rng.integers(50, size=(CONTEXTS, POSITIONS)))
    shapes = {
        "scalars": (2, 3, 7),
        "profile": (2, 3, 5),
        "map": (2, 3, 4, 4),
        "signal": (2, 3, 4),
        "mixing": (2, 5),
        "ranks": (2, 3, 2),
    }
    heads = {name: torch.from_numpy(rng.normal(size=(CONTEXTS, *shape))) for name, shape in shapes.items()}
    return Cloud(states, kept, groups, shifts, tokens, heads)


def batch(data, rows, *, scatter):
    there = tuple(data.states[site, rows] for site in range(SITES))
    return Batch(
        norms=torch.stack([lengths(site) for site in there]),
        states=blanked(there, data.kept[rows]),
        kept=data.kept[rows],
        contexts=tuple(rows),
        groups=tuple(data.groups[row] for row in rows),
        shifts=tuple(data.shifts[row] for row in rows),
        scatter=scatter,
        frame=FRAME if scatter else None,
        first=data.states[:, rows, 0],
    )


def head_statistics(data, rows):
    ranked = tuple(i for i, row in enumerate(rows) if row % 4 == 0)
    tables = {name: table[rows] for name, table in data.heads.items()}
    tables["ranks"] = tables["ranks"][list(ranked)]
    return HeadStatistics(ranked=ranked, **tables)


def increment(data, rows):
    drawn = frozenset((context, 2) for context in range(CONTEXTS))
    return Increment(
        residual=batch(data, rows, scatter=True),
        attention=batch(data, rows, scatter=False),
        outliers=Outliers(tuple((c, 1, 0) for c in rows), tuple(torch.full((SITES,), float(c)) for c in rows)),
        sample=Sample.of(tuple(data.states[:, rows]), data.tokens[rows], ~data.kept[rows], tuple(rows), 1, drawn),
        heads=Heads.of(head_statistics(data, rows), tuple(data.groups[row] for row in rows)),
    )


def state(data, batches):
    """The state of some batches, as a shard makes it."""
    first, *others = batches
    total = State.of(increment(data, first))
    for rows in others:
        total = total.add(increment(data, rows))
    return total


def shards_of(cuts):
    """All windows in order, in shards of batches, with the cuts where they are asked for."""
    shards = [[[0]]]
    for row, cut in enumerate(cuts, 1):
        if cut == "shard":
            shards.append([[row]])
        elif cut == "batch":
            shards[-1].append([row])
        else:
            shards[-1][-1].append(row)
    return shards


def associated(states, choices):
    """The states merged in their order, each time two neighbours that the choices name."""
    states = list(states)
    for choice in choices:
        if len(states) > 1:
            at = choice % (len(states) - 1)
            states[at : at + 2] = [states[at].merge(states[at + 1])]
    return states[0]


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
            tensors[f"{name}/scatter/count"] = torch.tensor(stream.scatter.count)
            flattened(stream.leading, f"{name}/leading", tensors)
        for part in (stream.positions, stream.null, stream.spread, stream.norms, stream.first):
            flattened(part, f"{name}/{type(part).__name__}", tensors)
        tensors[f"{name}/first/count"] = torch.tensor(stream.first.count)
        for group, count in stream.spread.counts.items():
            tensors[f"{name}/count/{group}"] = torch.tensor(count)
    order = np.argsort([token[0] for token in whole.sample.tokens], kind="stable")
    tensors["sample"] = torch.cat(whole.sample.states, 1)[:, order]
    order = np.argsort([token[0] for token in whole.outliers.tokens], kind="stable")
    tensors["outliers"] = torch.stack(whole.outliers.ratios)[order]
    flattened(whole.heads, "heads", tensors)
    for name in ("windows", "ranked"):
        for group, count in getattr(whole.heads, name).items():
            tensors[f"heads/{name}/{group}"] = torch.tensor(count)
    return tensors


def assert_same(ours: State, theirs: State, tolerance: float = 1e-9) -> None:
    ours, theirs = canonical(ours), canonical(theirs)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        scale = max(float(theirs[name].double().abs().max()), 1.0)
        assert float((value.double() - theirs[name].double()).abs().max()) <= tolerance * scale, name


@settings(max_examples=60, deadline=None)
@given(seeds, cuts, choices)
def test_any_split_into_batches_and_shards_and_any_association_gives_the_same_state(seed, cuts, choices):
    data = cloud(seed, offset=3.0)
    shards = shards_of(cuts)
    at_once = State.of(increment(data, ALL))
    merged = associated([state(data, batches) for batches in shards], choices)
    assert_same(merged, at_once)
    packed = associated([state(data, batches).packed() for batches in shards], choices)
    assert_same(packed.packed(), merged, tolerance=0)


@settings(max_examples=60, deadline=None)
@given(seeds, st.lists(st.integers(0, 3), min_size=CONTEXTS, max_size=CONTEXTS), st.permutations(range(4)))
def test_any_order_of_the_windows_gives_the_same_state(seed, split, order):
    data = cloud(seed, offset=-2.0)
    parts = [[row for row in ALL if split[row] == part] for part in order]
    parts = [rows for rows in parts if rows]
    at_once = State.of(increment(data, ALL))
    assert_same(state(data, parts), at_once)
    assert_same(associated([state(data, [rows]) for rows in parts], [0] * CONTEXTS), at_once)


@settings(max_examples=30, deadline=None)
@given(seeds, cuts, choices)
def test_the_same_order_gives_the_same_bits(seed, cuts, choices):
    data = cloud(seed, offset=3.0)
    once, again = (associated([state(data, batches) for batches in shards_of(cuts)], choices) for _ in range(2))
    assert_same(once, again, tolerance=0)


def dicts_of(record):
    """Every dict of a record, whatever lies around it."""
    if isinstance(record, dict):
        return [record]
    parts = [getattr(record, field.name) for field in fields(record)] if is_dataclass(record) else []
    return [table for part in parts for table in dicts_of(part)]


def tensors_of(record):
    tensors = {}
    flattened(record, "", tensors)
    return list(tensors.values())


OPERATIONS = {
    "add": lambda data, mine: mine.add(increment(data, ALL[4:])),
    "merge": lambda data, mine: mine.merge(State.of(increment(data, ALL[4:]))),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_dict_of_a_record_changes(operation):
    data = cloud(2)
    mine = State.of(increment(data, ALL[:6]))
    before = [(table, dict(table)) for table in dicts_of(mine)]
    assert len(before) == 2 * 9 + 1 + 8
    grown = OPERATIONS[operation](data, mine)
    for (table, content), now in zip(before, dicts_of(mine), strict=True):
        assert now is table
        assert now.keys() == content.keys()
        assert all(now[key] is value for key, value in content.items())
    assert not {id(table) for table in dicts_of(grown)} & {id(table) for table, _ in before}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_tensor_that_is_still_the_same_object_has_not_changed(operation):
    data = cloud(3)
    mine = State.of(increment(data, ALL[:6]))
    before = [(tensor, tensor.clone()) for tensor in tensors_of(mine)]
    kept = {id(tensor) for tensor in tensors_of(OPERATIONS[operation](data, mine))}
    same = [(tensor, copy) for tensor, copy in before if id(tensor) in kept]
    assert same
    assert all(torch.equal(tensor, copy) for tensor, copy in same)
    assert any(not torch.equal(tensor, copy) for tensor, copy in before)


def without_scatter(record):
    return replace(record, residual=replace(record.residual, scatter=None))


LACKING = {
    "heads": lambda record: replace(record, heads=None),
    "attention": lambda record: replace(record, attention=None),
    "scatter": without_scatter,
}


@pytest.mark.parametrize("part", LACKING)
def test_a_part_that_one_side_lacks_is_refused_and_one_that_both_lack_stays_missing(part):
    data, without = cloud(4), LACKING[part]

    def mine():
        return State.of(increment(data, ALL[:4]))

    def other():
        return State.of(increment(data, ALL[4:]))

    more = increment(data, ALL[4:])
    less = replace(more, residual=replace(more.residual, scatter=False)) if part == "scatter" else without(more)
    message = f"expected {part} on both sides or on neither, got {part} on one"
    for refused in (
        lambda: mine().merge(without(other())),
        lambda: without(mine()).merge(other()),
        lambda: mine().add(less),
        lambda: without(mine()).add(more),
    ):
        with pytest.raises(AssertionError, match=message):
            refused()
    for missing in (without(mine()).merge(without(other())), without(mine()).add(less)):
        assert (missing.residual.scatter if part == "scatter" else getattr(missing, part)) is None


def test_head_sums_by_group_are_those_of_numpy_and_survive_a_checkpoint():
    data = cloud(1)
    statistics, groups = head_statistics(data, ALL), np.array(data.groups)
    sums = Heads.of(statistics, data.groups)
    for group in set(groups.tolist()):
        assert np.allclose(sums.map[group], statistics.map[groups == group].sum(0))
        assert sums.windows[group] == (groups == group).sum()
        sampled = [i for i, row in enumerate(statistics.ranked) if groups[row] == group]
        assert sums.ranked.get(group, 0) == len(sampled)
        if sampled:
            assert np.allclose(sums.ranks[group], statistics.ranks[sampled].sum(0))
    tensors = {}
    again = rebuilt(flattened(sums, "", tensors), tensors)
    assert (again.windows, again.ranked) == (sums.windows, sums.ranked)
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(tensors_of(again), tensors_of(sums), strict=True))


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_the_sums_are_those_of_plain_numpy(offset):
    data = cloud(5, offset)
    states, kept, groups, shifts = (np.asarray(part) for part in (data.states, data.kept, data.groups, data.shifts))
    stream = State.of(increment(data, ALL)).residual
    weights = kept[None, :, :, None]
    for group in set(groups.tolist()):
        mine = groups == group
        assert np.allclose(stream.positions.sums[group], (states * weights)[:, mine].sum(1), rtol=1e-12)
        assert np.array_equal(stream.positions.counts[group], kept[mine].sum(0))
        tokens = [states[:, mine][:, kept[mine]]][0]
        squares = ((tokens - tokens.mean(1, keepdims=True)) ** 2).sum((1, 2))
        assert np.allclose(stream.spread.squares[group], squares, rtol=1e-6)
        norms = np.linalg.norm(states, axis=-1) * kept
        assert np.allclose(stream.norms.sums[group], norms[:, mine].sum(1), rtol=1e-12)
    rolled = sum(np.roll((states * weights)[:, c], shifts[c], 1) for c in range(CONTEXTS))
    assert np.allclose(stream.null.sums, rolled, rtol=1e-12)
    tokens = states[:, kept]
    centred = tokens - tokens.mean(1, keepdims=True)
    assert np.allclose(stream.scatter.matrix, np.einsum("snd,sne->sde", centred, centred), rtol=1e-9, atol=1e-6)
    assert np.allclose(stream.norms.largest, np.linalg.norm(states, axis=-1).max(1))
    assert np.allclose(stream.first.sums, states[:, :, 0].sum(1))


def test_tokens_left_out_are_blanked_in_place():
    data = cloud(1, 0.0)
    states, kept = data.states, data.kept
    before = states.clone()
    blanked(tuple(states), kept)
    assert torch.equal(states[:, kept], before[:, kept])
    assert bool((states[:, ~kept] == 0).all())

"""Shards: every window once, in order, groups whole where they fit."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.surveys import plan as module
from armillary.surveys.plan import Plan


def planned(sizes, length=64):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return Plan(np.zeros((len(groups), length), np.int64), groups, 0, "drop", "drop", "residual", "all", 4)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=16))
def test_shards_hold_every_window_once_and_cut_no_group_that_fits(sizes):
    plan = planned(sizes)
    usual = module.SHARD_TOKENS // 64
    assert [window for shard in plan.shards for window in shard] == list(range(sum(sizes)))
    assert all(0 < len(shard) < 2 * usual for shard in plan.shards)
    for group, size in enumerate(sizes):
        holding = [shard for shard in plan.shards if group in plan.groups[shard.start : shard.stop]]
        assert len(holding) == max(1, size // usual)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(1, 20))
def test_batches_hold_every_window_of_a_shard_once(size, batch):
    plan = Plan(np.zeros((size, 8), np.int64), np.zeros(size, int), 0, "drop", "drop", "residual", "all", batch)
    for shard in plan.shards:
        assert [row for rows in plan.batches(shard) for row in rows] == list(shard)


def test_shifts_and_sample_depend_on_the_seed_alone():
    one, again = planned([5, 9]), planned([5, 9])
    assert np.array_equal(one.shifts, again.shifts)
    assert one.sample == again.sample
    assert all(0 < position < 64 for _, position in one.sample)
    assert len(one.sample) == module.SAMPLE


def test_a_plan_with_other_shards_is_another_plan(monkeypatch):
    before = planned([40, 40]).fingerprint("m")
    assert planned([40, 40]).fingerprint("m") == before
    monkeypatch.setattr(module, "SHARD_TOKENS", 20 * 64)
    assert planned([40, 40]).fingerprint("m") != before

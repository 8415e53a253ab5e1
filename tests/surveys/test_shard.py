"""A shard becomes a state by the operations that the laws test, whoever runs it; states that are no numbers stop it."""

from contextlib import closing

import numpy as np
import pytest
import torch

import armillary as arm
from armillary.errors import NonFiniteError
from armillary.surveys.checkpoint import flattened
from armillary.surveys.engines.local import local
from armillary.surveys.plan import Plan
from armillary.surveys.running import captured, cores
from armillary.surveys.shard import shard_state
from armillary.surveys.sums.state import State


@pytest.fixture(autouse=True)
def _one_core():
    with cores(1):
        yield


def plan_for(contexts, batch=2):
    tokens = np.random.default_rng(0).integers(3, 60, (contexts, 8))
    return Plan(tokens, np.arange(contexts) // 10, 0, "drop", "drop", "residual", "all", batch, heads=True)


def test_a_survey_adds_batches_within_shards_and_merges_shards(tiny_llama, monkeypatch):
    calls = []

    def counted(name):
        real = getattr(State, name)

        def counting(self, other):
            calls.append(name)
            return real(self, other)

        return counting

    monkeypatch.setattr("armillary.surveys.plan.SHARD_TOKENS", 80)
    for name in ("add", "merge"):
        monkeypatch.setattr(State, name, counted(name))
    plan = plan_for(20)
    assert len(plan.shards) == 2
    local(tiny_llama, plan, lambda windows: None)
    first, second = (len(plan.batches(shard)) for shard in plan.shards)
    assert min(first, second) > 1
    assert calls == ["add"] * (first - 1 + second - 1) + ["merge"]


def test_shards_read_apart_and_merged_in_order_give_the_bits_of_the_local_engine(tiny_llama, monkeypatch):
    monkeypatch.setattr("armillary.surveys.plan.SHARD_TOKENS", 80)
    plan = plan_for(40)
    assert len(plan.shards) == 4
    reported, states, first = [], [], None
    with torch.inference_mode():
        for shard in plan.shards:
            with closing(captured(tiny_llama, plan, plan.batches(shard))) as read:
                state, first = shard_state(read, plan, first, reported.append)
            states.append(state)
        total = states[0]
        for state in states[1:]:
            total = total.merge(state)
    ours, theirs = {}, {}
    expected, pilot = local(tiny_llama, plan, lambda windows: None)
    assert flattened(total, "", ours) == flattened(expected, "", theirs)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in ours.items())
    assert torch.equal(first.medians, pilot.medians)
    assert torch.equal(first.frame.directions, pilot.frame.directions)
    assert sum(reported) == 40


def test_states_that_are_not_finite_stop_the_run_with_layer_and_token(tiny_llama):
    weight = tiny_llama.model.get_input_embeddings().weight
    before = weight[5].clone()
    tokens = np.full((8, 16), 7)
    tokens[3, 9] = 5
    message = (
        r"^expected finite hidden states, got NaN or infinity in layer 0 at window 3, position 9 \(token id 5\): "
        r"try --dtype float32"
    )
    try:
        with torch.no_grad():
            weight[5] = float("nan")
        with pytest.raises(NonFiniteError, match=message):
            arm.survey(tiny_llama, tokens, progress=False)
    finally:
        with torch.no_grad():
            weight[5] = before

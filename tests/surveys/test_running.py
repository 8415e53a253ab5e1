"""Batches go through the model side by side and come out in order, and nothing of it stays behind."""

import threading
import time
from contextlib import closing

import numpy as np
import pytest
import torch

import armillary as arm
from armillary.surveys import running
from armillary.surveys.plan import Plan
from armillary.surveys.running import captured, cores, shared_out


@pytest.fixture
def view(tiny_llama):
    return tiny_llama


@pytest.fixture(autouse=True)
def two_cores():
    with cores(2):
        yield


def plan_for(contexts, batch=2):
    tokens = np.random.default_rng(0).integers(3, 60, (contexts, 8))
    return Plan(tokens, np.arange(contexts) // 4, 0, "drop", "drop", "residual", "all", batch)


def hooks(view):
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in view.model.modules())


def batches_of(plan):
    return [rows for shard in plan.shards for rows in plan.batches(shard)]


def test_a_batch_that_takes_long_is_not_overtaken(view):
    plan = plan_for(12)
    began, two = [], threading.Barrier(2, timeout=20)

    def slow(module, args):
        began.append(time.monotonic())
        if len(began) <= 2:
            two.wait()  # fails unless two batches are in the model at once
        time.sleep(0.2 if len(began) == 1 else 0)

    with closing(captured(view, plan, batches_of(plan))) as batches:
        handle = view.blocks[0].register_forward_pre_hook(slow)
        order = [batch.contexts for batch in batches]
        handle.remove()
    assert order == batches_of(plan)


def test_no_more_than_three_batches_are_held(view):
    plan = plan_for(24)
    entered = []
    handle = view.blocks[0].register_forward_pre_hook(lambda module, args: entered.append(1))
    with closing(captured(view, plan, batches_of(plan))) as batches:
        for taken, _ in enumerate(batches):
            time.sleep(0.02)
            assert len(entered) <= taken + 1 + running.AT_ONCE
    handle.remove()
    assert len(entered) == len(batches_of(plan))


def test_leaving_early_leaves_no_hook_and_the_cores_as_they_were(view):
    plan = plan_for(24)
    with closing(captured(view, plan, batches_of(plan))) as batches:
        next(batches)
        assert hooks(view) > 0
        assert torch.get_num_threads() == 1
    assert hooks(view) == 0
    assert torch.get_num_threads() == 2


def test_an_error_in_the_model_reaches_the_caller(view):
    def fails(module, args):
        raise ZeroDivisionError("in a thread")

    handle = view.blocks[1].register_forward_pre_hook(fails)
    with pytest.raises(ZeroDivisionError, match="in a thread"):
        arm.survey(view, np.random.default_rng(0).integers(3, 60, (20, 8)), progress=False)
    handle.remove()
    assert hooks(view) == 0
    assert torch.get_num_threads() == 2


def test_a_survey_gives_the_same_bits_every_time(view):
    text = np.random.default_rng(0).integers(3, 60, (60, 16))
    first, *others = [arm.survey(view, text, heads=True, progress=False).results for _ in range(5)]
    for other in others:
        for name, node in first.children.items():
            assert node.to_dataset().equals(other[name].to_dataset()), name


def test_cores_are_shared_out():
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert shared_out(cpu, known=True) == (2, 1)
    assert shared_out(gpu, known=True) == (2, 2)
    with cores(1):
        assert shared_out(cpu, known=True) == (1, 1)
    with cores(5):
        assert shared_out(cpu, known=True) == (2, 2)


def test_a_model_of_unknown_family_runs_one_batch_at_a_time():
    assert shared_out(torch.device("cpu"), known=False) == (1, 2)


@pytest.mark.parametrize("contexts", [1, 2, 3, 7, 64, 65])
@pytest.mark.parametrize("batch", [1, 4, 100])
def test_batches_cover_every_window_once_and_the_last_are_small(contexts, batch):
    plan = plan_for(contexts, batch)
    found = batches_of(plan)
    assert [row for rows in found for row in rows] == list(range(contexts))
    assert max(map(len, found)) <= batch
    assert len(found[-1]) == 1

"""What a pass will need is known before it starts, and does not grow with groups, layers and length together."""

import numpy as np
import psutil
import pytest

from armillary.surveys.memory import Shape, estimate, needed
from armillary.surveys.plan import Plan
from armillary.surveys.shelving import ROOM

LLAMA_7B, SMOLLM2 = Shape(33, 4096, 32), Shape(31, 576, 30)


def plan_for(contexts, length, groups=16):
    index = np.arange(contexts) * groups // contexts
    tokens = np.zeros((contexts, length), dtype=np.int64)
    return Plan(tokens, index, 0, "drop", "drop", "residual", "all", max(1, 512 // length))


@pytest.fixture
def free(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 10**12})())


@pytest.mark.parametrize("contexts", [16, 64, 512])
def test_a_model_of_seven_billion_weights_takes_at_most_twelve_gigabytes(free, contexts):
    bytes_, rest = needed(plan_for(contexts, 512), LLAMA_7B, None)
    assert rest
    assert 4.4e9 < bytes_ <= 12e9  # the scatter matrices alone are 4.4 GB


@pytest.mark.parametrize("shape", [LLAMA_7B, SMOLLM2])
def test_more_groups_take_no_more_than_the_room_for_finished_ones(shape):
    few, many = (estimate(plan_for(64, 512, groups), shape) for groups in (4, 16))
    assert many - few <= ROOM


def test_a_small_model_stays_in_memory_and_more_is_allowed_on_request(free):
    assert needed(plan_for(64, 128), SMOLLM2, None) == (estimate(plan_for(64, 128), SMOLLM2), False)
    assert needed(plan_for(64, 512), LLAMA_7B, 16.0)[1] is False
    assert needed(plan_for(64, 128), SMOLLM2, 0.5) == (estimate(plan_for(64, 128), SMOLLM2, rest=True), True)


def test_little_free_memory_puts_the_total_to_rest(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 10**9})())
    assert needed(plan_for(64, 128), SMOLLM2, None)[1]

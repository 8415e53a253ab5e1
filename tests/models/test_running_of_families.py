"""Two batches in a model at the same time give what each gives alone, in every family."""

from contextlib import closing

import numpy as np
import pytest
import torch

from armillary.attention.reading import reading_heads
from armillary.models import load
from armillary.models.states import reading
from armillary.surveys.plan import Plan
from armillary.surveys.running import captured, captured_batch, cores

BATCHES = [range(i, i + 2) for i in range(0, 24, 2)]


@pytest.fixture
def two_cores():
    with cores(2):
        yield


@torch.inference_mode()
def alone(view, plan):
    with cores(1), reading(view) as read, reading_heads(view, skipped=1, drop=True) as heads:
        return [captured_batch(view, plan, rows, view.device, read, heads) for rows in BATCHES]


@torch.inference_mode()
def together(view, plan):
    with closing(captured(view, plan, BATCHES)) as batches:
        return list(batches)


def test_two_at_a_time_give_the_same_bits(tiny, name, two_cores):
    view = load(tiny(name))
    tokens = np.random.default_rng(2).integers(3, 60, (24, 17))
    plan = Plan(tokens, np.arange(24) // 6, 0, "drop", "drop", "residual", "all", 2, heads=True)
    for mine, theirs in zip(together(view, plan), alone(view, plan), strict=True):
        assert mine.contexts == theirs.contexts
        for stream in ("residual", "attention"):
            for ours, own in zip(getattr(mine, stream), getattr(theirs, stream), strict=True):
                assert torch.equal(ours, own)
        assert mine.heads.scalars.keys() == theirs.heads.scalars.keys()
        for group, scalars in mine.heads.scalars.items():
            assert torch.equal(scalars, theirs.heads.scalars[group])

"""Running all shards here, one after the other; their states are merged in the order of the shards."""

import time
from contextlib import closing
from itertools import chain, islice

import torch

from armillary.models.view import View
from armillary.surveys.checkpoint import Checkpoint
from armillary.surveys.memory import give_back
from armillary.surveys.pilot import Pilot
from armillary.surveys.plan import Plan
from armillary.surveys.running import captured
from armillary.surveys.shard import Report, shard_state
from armillary.surveys.sums.state import State

CHECKPOINT_SECONDS = 30.0
"""A checkpoint is not written for less work than this: writing it would cost more than doing the work again."""


@torch.inference_mode()
def local(view: View, plan: Plan, report: Report, checkpoint: Checkpoint | None = None) -> tuple[State, Pilot]:
    """The state of all shards, and the pilot; resumes what the checkpoint holds."""
    done, total, first = checkpoint.load() if checkpoint and checkpoint.exists() else (0, None, None)
    report(sum(len(shard) for shard in plan.shards[:done]))
    saved = time.monotonic()
    shards = [plan.batches(shard) for shard in plan.shards[done:]]
    # The model goes on to the next shard's windows while the last ones of a shard are summed.
    with closing(captured(view, plan, chain.from_iterable(shards))) as read:
        for number, batches in enumerate(shards, done + 1):
            state, first = shard_state(islice(read, len(batches)), plan, first, report)
            total = state if total is None else total.merge(state)
            del state
            if number == len(plan.shards):
                break
            give_back()
            if checkpoint and time.monotonic() - saved >= CHECKPOINT_SECONDS:
                checkpoint.save(number, total, first)
                saved = time.monotonic()
    if checkpoint:
        checkpoint.let_go()
    if total is None or first is None:
        raise AssertionError("expected a plan with a shard, got one without: a corpus has at least one window")
    return total, first

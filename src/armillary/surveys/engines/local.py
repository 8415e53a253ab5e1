"""Running all shards here, one after the other; their states are merged in the order of the shards."""

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
from armillary.surveys.stopping import Enough, never
from armillary.surveys.sums.state import State
from armillary.surveys.total import Total

WIDE = 2048
"""From this width on, memory that a shard leaves torn to pieces is handed back: that of narrower models is soon used
again, and would have to be cleared anew."""


@torch.inference_mode()
def local(
    view: View,
    plan: Plan,
    report: Report,
    checkpoint: Checkpoint | None = None,
    *,
    rest: bool = False,
    enough: Enough = never,
) -> tuple[State, Pilot]:
    """The state of all shards, or of as many as are enough, and the pilot; resumes what the checkpoint holds.

    Groups that are finished may lie on disk, with `rest` the total too while a shard runs. An interrupt leaves a
    checkpoint of the shards that are done.
    """
    total = Total(plan, checkpoint, rest=rest)
    total.resume(view)
    report(total.stop)
    shards = [plan.batches(shard) for shard in plan.shards[total.done :]]
    # The model goes on to the next shard's windows while the last ones of a shard are summed.
    with closing(captured(view, plan, chain.from_iterable(shards))) as read:
        try:
            for batches in shards:
                if enough(total.state, total.done):
                    break
                total.add(*shard_state(islice(read, len(batches)), plan, total.pilot, report, total.shelving))
                if view.d_model >= WIDE:
                    give_back()
        except KeyboardInterrupt:
            total.save()
            raise
    return total.taken(early=True)

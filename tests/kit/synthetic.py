"""Small clouds of states that go through the accumulators as a model's would."""

import numpy as np
import torch

from armillary.surveys.pilot import Pilot
from armillary.surveys.plan import Plan
from armillary.surveys.running import Captured
from armillary.surveys.shard import increment
from armillary.surveys.sums.frame import frame
from armillary.surveys.sums.state import State


def plan_for(contexts, positions, *, groups=None, batch=4, outliers="drop", first="drop", scatter="residual", seed=0):
    tokens = np.arange(contexts * (positions + 1), dtype=np.int64).reshape(contexts, -1) % 50
    index = np.arange(contexts) * (groups or 4) // contexts
    return Plan(tokens, index, seed, first, outliers, scatter, "all", batch)


def pilot_of(states, medians=None):
    """A pilot by these medians, its frame that of the states themselves."""
    medians = torch.ones(len(states), dtype=torch.float64) if medians is None else medians
    calm = torch.stack([layer.norm(dim=-1) < 20 * limit for layer, limit in zip(states, medians, strict=True)]).all(0)
    return Pilot(medians, frame([layer[calm] for layer in states]))


def state_of(states, plan, rule=None, attention=()):
    """The state of given tables [layer context position d_model], batch by batch in the order of the plan."""
    total, first = None, pilot_of(states, rule)
    for shard in plan.shards:
        for rows in plan.batches(shard):
            part = slice(rows.start, rows.stop)
            captured = Captured(rows, tuple(s[part] for s in states), tuple(s[part] for s in attention))
            more = increment(captured, plan, first)
            total = State.of(more) if total is None else total.add(more)
    return total

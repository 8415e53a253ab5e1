"""How much memory a pass will need beyond the model itself, said before it starts."""

import ctypes
import sys
from dataclasses import dataclass

import psutil

from armillary.attention.pattern_sums import BINS
from armillary.errors import RequestError
from armillary.surveys.plan import SAMPLE, Plan
from armillary.surveys.running import AT_ONCE


@dataclass(frozen=True)
class Shape:
    """What memory depends on: the number of layers, the width, at how many attentions states are read apart, heads.

    `heads` is the number of heads whose maps are read, in all blocks together; 0 where none are.
    """

    layers: int
    d_model: int
    attentions: int
    heads: int = 0


def estimate(plan: Plan, shape: Shape) -> int:
    """Bytes at the peak beyond the bare forward pass."""
    contexts, length = plan.tokens.shape
    kept, groups = len(plan.positions), len(set(plan.groups.tolist()))
    sites, width = shape.layers + shape.attentions, shape.d_model
    table = 8 * kept * width
    sums = table * sites * groups
    matrices = 8 * width**2 * (sites if plan.scatter == "attention" else shape.layers)
    rows = 8 * width * sites * contexts
    # The states of the batches in the model, and of the one that is being summed.
    batch = 4 * sites * (AT_ONCE + 1) * plan.batch * length * width
    sample = 4 * SAMPLE * width * shape.layers
    # Each head's statistics, by group and for the windows of a batch; the map by bins is nearly all of them.
    heads = 8 * (BINS**2 + 3 * BINS) * shape.heads * (2 * groups + 2 * plan.batch)
    # A shard's matrices, null and a group that it shares stand beside the total's until they merge.
    return sums + 2 * matrices + 3 * table * sites + rows + batch + sample + heads


def give_back() -> None:
    """Hand memory that is free but torn to pieces back to the system, where the C library can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def refuse_if_too_large(needed: int) -> None:
    """Refuse a pass that will not fit, with advice."""
    free = psutil.virtual_memory().available
    if needed > free:
        raise RequestError(
            f"expected {needed / 1e9:.1f} GB of free memory for this survey, got {free / 1e9:.1f} GB: use a shorter "
            f"--length, a smaller --batch or --sites residual"
        )

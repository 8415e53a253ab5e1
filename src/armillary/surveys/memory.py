"""How much memory a pass will need beyond the model itself, said before it starts."""

import ctypes
import sys
from dataclasses import dataclass
from itertools import pairwise

import psutil

from armillary.attention.pattern_sums import BINS
from armillary.errors import RequestError
from armillary.measures.heldout import FOLDS
from armillary.results.measuring import measuring_threads, working_bytes
from armillary.surveys.plan import SAMPLE, Plan
from armillary.surveys.rooms import LARGE
from armillary.surveys.running import AT_ONCE
from armillary.surveys.shelving import ROOM

AMPLE, SHARE = 4.0, 0.6
"""Gigabytes, and the part of free memory, that a pass may take before its total rests on disk, if nobody says more."""


@dataclass(frozen=True)
class Shape:
    """What memory depends on: the number of layers, the width, at how many attentions states are read apart, heads.

    `heads` is the number of heads whose maps are read, in all blocks together; 0 where none are.
    """

    layers: int
    d_model: int
    attentions: int
    heads: int = 0

    @property
    def sites(self) -> int:
        """At how many places states are read."""
        return self.layers + self.attentions


def estimate(plan: Plan, shape: Shape, *, rest: bool = False) -> int:
    """Bytes at the peak beyond the bare forward pass; with `rest` the total lies on disk while a shard runs."""
    return max(pass_bytes(plan, shape, rest=rest), table_bytes(plan, shape, rest=rest), measure_bytes(plan, shape))


def pass_bytes(plan: Plan, shape: Shape, *, rest: bool) -> int:
    """The most while the model runs: a shard's sums, the total's, and the batches that are read meanwhile."""
    table, matrices = position_table(plan, shape), matrix_bytes(plan, shape)
    groups = len(set(plan.groups.tolist()))
    # A group that two shards share stands in both; a shard's null and matrices stand beside the total's.
    cut = any(shared_groups(plan))
    beside = 0 if rest or len(plan.shards) == 1 else matrices + (2 if cut else 1) * table
    # The states of the batches in the model, and of the one that is being summed.
    batch = 4 * shape.sites * (AT_ONCE + 1) * plan.batch * plan.tokens.shape[1] * shape.d_model
    # Each head's statistics, by group and for the windows of a batch; the map by bins is nearly all of them.
    heads = 8 * (BINS**2 + 3 * BINS) * shape.heads * (2 * groups + 2 * plan.batch)
    finished = 0 if rest else min(ROOM, groups * table)
    # Where windows come in rounds, groups stay open: a shard sums many at once, and the total holds all of them.
    within, across = open_groups(plan)
    rounds = table * (max(0, within - 2) + (0 if rest else max(0, across - 1)))
    return finished + 2 * table + matrices + beside + batch + heads + rounds + kept_bytes(plan, shape)


def table_bytes(plan: Plan, shape: Shape, *, rest: bool) -> int:
    """The most while layers are tabulated: sums that are in memory, what is made of them, and two sites at work."""
    table, groups = position_table(plan, shape), len(set(plan.groups.tolist()))
    sums = 0 if rest else min(ROOM, groups * table) + table + matrix_bytes(plan, shape)
    # Of a site of each stream: its groups, their sum and the null; of the layers also the folds and the covariance.
    work = table // shape.sites * (2 * (groups + 2) + FOLDS // 2 + 1) + (6 if rest else 4) * 4 * shape.d_model**2
    return sums + work + room_bytes(plan, shape) + kept_bytes(plan, shape)


def measure_bytes(plan: Plan, shape: Shape) -> int:
    """The most while layers are measured, a few at a time: results that are in memory, and matrices at work."""
    size = shape.d_model, len(plan.positions)
    return working_bytes(*size) * measuring_threads(*size) + room_bytes(plan, shape) + kept_bytes(plan, shape)


def position_table(plan: Plan, shape: Shape) -> int:
    """One number for every site, position and coordinate."""
    return 8 * shape.sites * len(plan.positions) * shape.d_model


def matrix_bytes(plan: Plan, shape: Shape) -> int:
    """The scatter matrices of one state."""
    return 8 * shape.d_model**2 * (shape.sites if plan.scatter == "attention" else shape.layers)


def kept_bytes(plan: Plan, shape: Shape) -> int:
    """A vector per window and site, and the sampled tokens."""
    return 8 * shape.d_model * shape.sites * len(plan.tokens) + 4 * SAMPLE * shape.d_model * shape.layers


def room_bytes(plan: Plan, shape: Shape) -> int:
    """Results by layer that stay in memory: those that are not large."""
    one = 4 * len(plan.positions) * shape.d_model
    arrays = [each * one * sites for sites in (shape.layers, shape.attentions) for each in (1, 2)]
    arrays += [FOLDS * one * shape.layers, 4 * shape.d_model**2 * shape.layers]
    return sum(size for size in arrays if size < LARGE)


def shared_groups(plan: Plan) -> list[set[int]]:
    """For each two neighbouring shards the groups that both have windows of."""
    members = [set(plan.groups[shard.start : shard.stop].tolist()) for shard in plan.shards]
    return [mine & other for mine, other in pairwise(members)]


def open_groups(plan: Plan) -> tuple[int, int]:
    """The most groups of one shard that have windows elsewhere too, and the most that are begun between two shards."""
    first = {int(group): index for index, group in reversed(list(enumerate(plan.groups)))}
    last = {int(group): index for index, group in enumerate(plan.groups)}
    within = across = 0
    for shard in plan.shards:
        mine = set(plan.groups[shard.start : shard.stop].tolist())
        within = max(within, sum(first[group] < shard.start or last[group] >= shard.stop for group in mine))
        across = max(across, sum(first[group] < shard.stop <= last[group] for group in first))
    return within, across


def give_back() -> None:
    """Hand memory that is free but torn to pieces back to the system, where the C library can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def needed(plan: Plan, shape: Shape, most: float | None) -> tuple[int, bool]:
    """How many bytes a pass takes, and whether its total rests on disk: only where it would be too much in memory.

    `most` are the gigabytes that it may take.
    """
    free = psutil.virtual_memory().available
    roomy = estimate(plan, shape)
    if roomy <= (min(AMPLE * 1e9, SHARE * free) if most is None else most * 1e9):
        return roomy, False
    return estimate(plan, shape, rest=True), True


def refuse_if_too_large(needed: int, most: float | None) -> None:
    """Refuse a pass that will not fit, with advice."""
    free = psutil.virtual_memory().available
    cure = "use a shorter --length, a smaller --batch or --sites residual"
    if most is not None and needed > most * 1e9:
        raise RequestError(
            f"expected a survey that takes at most {most:g} GB beyond the model (--max-memory), got one that takes "
            f"{needed / 1e9:.2f} GB: {cure}"
        )
    if needed > free:
        raise RequestError(
            f"expected {needed / 1e9:.1f} GB of free memory for this survey, got {free / 1e9:.1f} GB: {cure}"
        )

"""The sum of the shards that are done, in their order: what of it lies on disk, when it is saved, how it is resumed."""

import time
from contextlib import closing
from dataclasses import replace

from armillary.models.view import View
from armillary.surveys.checkpoint import Checkpoint, Resumed
from armillary.surveys.pilot import Pilot
from armillary.surveys.plan import Plan
from armillary.surveys.running import captured
from armillary.surveys.shard import shard_state
from armillary.surveys.shelving import Shelving, each_stream, files_of, finished
from armillary.surveys.sums.shelf import Shelf
from armillary.surveys.sums.state import State, Stream

CHECKPOINT_SECONDS = 30.0
"""A checkpoint is not written for less work than this: writing it would cost more than doing the work again."""

PART = 20
"""Nor before the pass has run this many times as long as the last one took to write."""


class Total:
    """What an engine adds the states of shards to, in the order of the shards; `rest` puts it on disk in between."""

    def __init__(self, plan: Plan, checkpoint: Checkpoint | None = None, *, rest: bool = False) -> None:
        self.plan, self.checkpoint = plan, checkpoint
        self.shelving = Shelving(checkpoint.shelf if checkpoint else Shelf(), rest=rest)
        self.done, self.state, self.pilot = 0, None, None  # type: tuple[int, State | None, Pilot | None]
        self.kept, self.whole = 0, True
        self.saved, self.wait = time.monotonic(), CHECKPOINT_SECONDS

    def resume(self, view: View) -> None:
        """Take up what the checkpoint holds; groups that a disk damaged are read once more."""
        held = self.checkpoint.load() if self.checkpoint and self.checkpoint.exists() else None
        if held is None:
            return
        state = held.state
        for group in held.damaged:
            state = with_group(state, again(view, self.plan, held, group), group)
        self.shelving.shelf.turn()
        self.done = self.kept = held.shards
        self.state, self.pilot = self.shelving.after(state, self.plan, self.stop), held.pilot

    @property
    def stop(self) -> int:
        """How many windows are done."""
        return self.plan.shards[self.done - 1].stop if self.done else 0

    def add(self, state: State, pilot: Pilot) -> None:
        """One more shard, which is given up; now and then the checkpoint is written."""
        self.whole = False  # sums are merged in place: what is half merged must not be saved
        self.shelving.shelf.turn()
        self.done, self.pilot = self.done + 1, pilot
        both = state if self.state is None else self.state.merge(state)
        self.state = self.shelving.after(both, self.plan, self.stop)
        self.whole = True
        if self.shelving.rest:
            (self.checkpoint or self.shelving.shelf).sweep(files_of(self.state))
        if self.done < len(self.plan.shards) and time.monotonic() - self.saved >= self.wait:
            self.save()

    def save(self) -> None:
        """Write the checkpoint, if there is something new to write."""
        if self.checkpoint is None or self.state is None or self.pilot is None or not self.whole:
            return
        if self.done > self.kept:
            began = time.monotonic()
            self.checkpoint.save(self.done, self.state, self.pilot, finished(self.plan, 0, self.stop))
            self.saved, self.kept = time.monotonic(), self.done
            self.wait = max(CHECKPOINT_SECONDS, PART * (self.saved - began))

    def taken(self, *, early: bool = False) -> tuple[State, Pilot]:
        """The state of all shards and the pilot, to be taken apart: nothing here holds a tensor any more.

        With `early`, of the shards that were added: an engine may have been told that they are enough.
        """
        state, pilot = self.state, self.pilot
        if state is None or pilot is None or (self.done < len(self.plan.shards) and not early):
            raise AssertionError(f"expected {len(self.plan.shards)} shards, got {self.done}: every shard is added once")
        self.state = None
        if self.checkpoint:
            self.checkpoint.let_go()
        return state, pilot


def again(view: View, plan: Plan, held: Resumed, group: int) -> State:
    """The shards that a group lies in, as far as they were done: its sums are the same bits as they were."""
    total: State | None = None
    for shard in plan.shards[: held.shards]:
        if group in plan.groups[shard.start : shard.stop]:
            with closing(captured(view, plan, plan.batches(shard))) as read:
                state, _ = shard_state(read, plan, held.pilot, lambda windows: None)
            total = state if total is None else total.merge(state)
    if total is None:
        raise AssertionError(f"expected a shard with group {group}, got none: the checkpoint holds its sums")
    return total


def with_group(state: State, other: State, group: int) -> State:
    """A state, the position sums of one group taken from another."""

    def healed(name: str, stream: Stream) -> Stream:
        sums = {**stream.positions.sums, group: getattr(other, name).positions.sums[group]}
        return replace(stream, positions=replace(stream.positions, sums=sums))

    return each_stream(state, healed)

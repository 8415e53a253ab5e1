"""What of a state lies on disk: groups that are finished, and where memory is short the total while a shard runs."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from armillary.surveys.plan import Plan
from armillary.surveys.sums.batch import Large
from armillary.surveys.sums.shelf import Kept, Shelf
from armillary.surveys.sums.state import State, Stream

ROOM = 2**29
"""Bytes of finished groups that stay in memory: writing them would cost small surveys time and gain them nothing."""


class Shelving:
    """Puts away the position sums of groups that are finished, and with `rest` all large sums of the total."""

    def __init__(self, shelf: Shelf, *, rest: bool = False) -> None:
        self.shelf = shelf
        self.rest = rest
        self.room = 0 if rest else ROOM
        self.stay: set[tuple[str, int]] = set()

    def within(self, state: State, plan: Plan, start: int, done: int) -> State:
        """The state of a shard's windows from `start` to `done`, without the groups that lie among them."""
        return self.without(state, finished(plan, start, done))

    def after(self, total: State, plan: Plan, done: int) -> State:
        """The total of all windows before `done`: finished groups put away and, where memory is short, all of it."""
        total = self.without(total, finished(plan, 0, done))
        return self.resting(total) if self.rest else total

    def without(self, state: State, groups: set[int]) -> State:
        """A state, the sums of finished groups put away."""
        return each_stream(state, lambda name, stream: self.put_away(name, stream, groups))

    def put_away(self, name: str, stream: Stream, groups: set[int]) -> Stream:
        """A stream, its finished groups on disk as far as there is no room for them."""
        sums = dict(stream.positions.sums)
        for group in sorted(groups & sums.keys()):
            mine, place = sums[group], (name, group)
            if place in self.stay:
                continue
            if isinstance(mine, Kept):
                # A file of totals holds much that is dead by the time a group in it is finished.
                sums[group] = mine.moved("finished") if mine.file.startswith("total") else mine
            elif mine.nbytes <= self.room:
                self.stay.add(place)
                self.room -= mine.nbytes
            else:
                sums[group] = self.shelf.put(mine, "finished")
        return replace(stream, positions=replace(stream.positions, sums=sums))

    def resting(self, total: State) -> State:
        """The total with all its large sums on disk: what the next shard needs of memory is free."""

        def rested(large: Large) -> Kept:
            return large if isinstance(large, Kept) else self.shelf.put(large, "total")

        def stream_at_rest(name: str, stream: Stream) -> Stream:
            sums: dict[int, Large] = {group: rested(mine) for group, mine in stream.positions.sums.items()}
            scatter = stream.scatter and replace(stream.scatter, matrix=rested(stream.scatter.matrix))
            null = replace(stream.null, sums=rested(stream.null.sums))
            return replace(stream, positions=replace(stream.positions, sums=sums), null=null, scatter=scatter)

        return each_stream(total, stream_at_rest)


def finished(plan: Plan, start: int, stop: int) -> set[int]:
    """The groups whose windows all lie from `start` to `stop`."""
    apart = np.concatenate([plan.groups[:start], plan.groups[stop:]])
    return set(plan.groups[start:stop].tolist()) - set(apart.tolist())


def each_stream(state: State, change: Callable[[str, Stream], Stream]) -> State:
    """A state, something done to both of its streams."""
    attention = state.attention and change("attention", state.attention)
    return replace(state, residual=change("residual", state.residual), attention=attention)


def files_of(state: State) -> set[str]:
    """The files that sums of a state lie in."""
    found: set[str] = set()
    for stream in filter(None, (state.residual, state.attention)):
        large = [*stream.positions.sums.values(), stream.null.sums, stream.scatter and stream.scatter.matrix]
        found |= {each.file for each in large if isinstance(each, Kept)}
    return found

"""Workers of a Ray cluster that come and go, and who has which shard: what is lost is given to another one."""

import heapq
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from armillary.errors import ArmillaryError, RequestError, SourceError, reason
from armillary.surveys.sending import ROUNDING, Sent, agrees, received, same_bits
from armillary.surveys.sums.state import State
from armillary.system.progress import say

TRIES = 3
"""How many losses for each worker, with no shard done in between, end a survey: then it is not the machines."""

AHEAD = 2
"""How many shards for each worker may be done or under way before their turn: their states wait in the object store."""

PATIENCE = 60.0
"""Seconds without any worker after which a line says that the cluster has no room."""


@dataclass(frozen=True)
class Room:
    """What a worker needs of the cluster, its batches at a time and the threads of each, how many workers there are."""

    needs: dict[str, int]
    split: tuple[int, int]
    size: int


class Crew:
    """Some workers, each with one shard at a time. `pilot` is what a worker's model must give to be the right one."""

    def __init__(self, ray: Any, room: Room, pilot: Sent) -> None:
        self.ray, self.room, self.pilot = ray, room, pilot
        self.running: dict[Any, tuple[Any, int | None, Any]] = {}
        self.idle: list[Any] = []
        self.waiting: list[int] = []
        self.done: dict[int, Any] = {}
        self.losses = 0
        self.told: set[str] = set()

    def start(self, kind: type, *given: Any) -> None:
        """Ask for the workers of a kind; what they are given is sent to each machine once."""
        self.kind = self.ray.remote(kind).options(**self.room.needs, max_restarts=0, max_task_retries=0)
        self.given = (*map(self.ray.put, given), self.room.split)
        self.pilot_sent = self.ray.put(self.pilot)
        for _ in range(self.room.size):
            self.hire()

    def hire(self) -> None:
        """Ask for one more worker: it is given no shard before it has a place and the model."""
        worker = self.kind.remote(*self.given)
        self.running[worker.ready.remote()] = (worker, None, None)

    def states(self, shards: range) -> Iterator[State]:
        """The states of shards in their order, whoever is done first."""
        self.waiting = list(shards)
        for turn in shards:
            while (parcel := self.taken(turn)) is None:
                self.give_out(turn + AHEAD * self.room.size)
                self.watch()
            self.give_out(turn + 1 + AHEAD * self.room.size)
            state = received(parcel)
            del parcel  # its place in the object store is free again
            yield state

    def give_out(self, stop: int) -> None:
        """Give shards before `stop` to those who have none, the first first."""
        while self.idle and self.waiting and self.waiting[0] < stop:
            worker, number = self.idle.pop(), heapq.heappop(self.waiting)
            mark, state = worker.shard.options(num_returns=2).remote(number, self.pilot_sent)
            self.running[mark] = (worker, number, state)

    def watch(self) -> None:
        """Wait until somebody answers or is lost."""
        marks, _ = self.ray.wait(list(self.running), num_returns=1, timeout=PATIENCE)
        if not marks and not self.idle and all(number is None for _, number, _ in self.running.values()):
            cpus, gpus = self.room.needs["num_cpus"], self.room.needs["num_gpus"]
            self.tell(f"waiting for a Ray worker to have the model: each takes {cpus} CPUs and {gpus} GPUs of one node")
        for mark in marks:
            worker, number, state = self.running.pop(mark)
            try:
                answer = self.ray.get(mark)
            except self.ray.exceptions.RayTaskError as error:
                self.ray.kill(worker)
                self.lose(number, error.cause)
            except self.ray.exceptions.RayError as error:
                self.lose(number, error)
            else:
                self.idle.append(worker)
                if number is None:
                    self.welcome(answer)
                else:
                    self.done[number], self.losses = state, 0

    def welcome(self, pilot: Sent) -> None:
        """Refuse a worker whose model is another one; say so where only its rounding is."""
        if same_bits(self.pilot, pilot):
            return
        if not agrees(self.pilot, pilot, ROUNDING):
            raise SourceError(
                "expected the model of this survey on every worker, got other weights there: give the model itself, as "
                "in arm.survey(arm.load(view.model), ...), or the same files on every machine"
            )
        self.tell(
            "warning: a worker's processor rounds otherwise: results agree with a local survey, but not to the bit"
        )

    def lose(self, number: int | None, error: BaseException) -> None:
        """A worker was lost, or failed: its shard waits again, and another worker is asked for."""
        if isinstance(error, ArmillaryError):
            raise error
        self.losses += 1
        if self.losses > TRIES * self.room.size:
            raise RequestError(
                f"expected workers that finish a shard, got {self.losses} lost one after the other ({why(error)}): "
                f"see Ray's logs; a worker needs memory for the model and the sums of one shard"
            ) from error
        if number is not None:
            heapq.heappush(self.waiting, number)
        self.hire()

    def taken(self, number: int) -> Sent | None:
        """The state of a shard, fetched; None where it is not done, or was lost with the node it lay on."""
        if number not in self.done:
            return None
        try:
            return self.ray.get(self.done.pop(number))
        except self.ray.exceptions.RayError:
            heapq.heappush(self.waiting, number)
            return None

    def tell(self, line: str) -> None:
        """Say something once."""
        if line not in self.told:
            self.told.add(line)
            say(line)

    def close(self) -> None:
        """Let all workers go."""
        for worker in [*self.idle, *(worker for worker, _, _ in self.running.values())]:
            self.ray.kill(worker)


def why(error: BaseException) -> str:
    """The first line of what Ray says, without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", reason(error))

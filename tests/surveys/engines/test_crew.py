"""Shards reach somebody whatever is lost, and their states are handed on in order. Ray is played by a few lines."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from armillary.errors import NonFiniteError, RequestError, SourceError
from armillary.surveys.engines import crew as crews
from armillary.surveys.engines.crew import AHEAD, TRIES, Crew, Room

PILOT = ({"plain": "pilot"}, {"medians": np.arange(3.0)})


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause):
        super().__init__(str(cause))
        self.cause = cause


class Calls:
    """Ray as far as a crew needs it: a call ends when it is waited for, in any order; `fate` says how."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, fate=lambda number: None, seed=0, lost=lambda number: None):
        self.fate, self.lost, self.order = fate, lost, random.Random(seed)
        self.calls, self.kept, self.alive = {}, [], set()
        self.most = self.given = self.hired = 0

    def remote(self, kind):
        return SimpleNamespace(options=lambda **needs: SimpleNamespace(remote=lambda *given: self.hire(kind, given)))

    def hire(self, kind, given):
        worker = SimpleNamespace(kind=kind(*given))
        worker.ready = SimpleNamespace(remote=lambda: self.call(worker.kind.ready))
        shard = SimpleNamespace(remote=lambda number, pilot: self.shard(worker, number))
        worker.shard = SimpleNamespace(options=lambda num_returns: shard)
        self.alive.add(id(worker))
        self.hired += 1
        self.most = max(self.most, len(self.alive))
        return worker

    def shard(self, worker, number):
        self.given += 1
        return self.call(lambda: self.outcome(worker, number)), self.call(lambda: self.state(number))

    def outcome(self, worker, number):
        error = self.fate(number)
        if isinstance(error, RayError):
            self.alive.discard(id(worker))
        if error is not None:
            raise error
        return number

    def state(self, number):
        error = self.lost(number)
        if error is not None:
            raise error
        return number, {}

    def call(self, work):
        mark = object()
        self.calls[id(mark)] = work
        self.kept.append(mark)
        return mark

    def put(self, value):
        return value

    def wait(self, marks, num_returns, timeout):
        return [self.order.choice(marks)], []

    def get(self, mark):
        return self.calls[id(mark)]()

    def kill(self, worker):
        self.alive.discard(id(worker))


class Worker:
    def __init__(self, pilot, split):
        self.pilot = pilot

    def ready(self):
        return self.pilot


@pytest.fixture(autouse=True)
def parcels_are_numbers(monkeypatch):
    monkeypatch.setattr(crews, "received", lambda parcel: parcel[0])


def crew_of(ray, workers=3, pilot=PILOT):
    crew = Crew(ray, Room({"num_cpus": 1, "num_gpus": 0}, (1, 1), workers), PILOT)
    crew.start(Worker, pilot)
    return crew


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", range(5))
def test_states_come_in_order_whoever_is_done_first(workers, seed):
    ray = Calls(seed=seed)
    assert list(crew_of(ray, workers).states(range(4, 40))) == list(range(4, 40))
    assert ray.most == workers
    assert ray.given == 36


def test_a_slow_first_shard_lets_few_others_run_ahead():
    ray = Calls()
    crew = crew_of(ray, workers=2)
    ray.wait = lambda marks, num_returns, timeout: ([next((m for m in marks if crew.running[m][1] != 0), marks[0])], [])
    held = []
    watch = crew.watch
    crew.watch = lambda: (watch(), held.append(len(crew.done)))
    assert list(crew.states(range(30))) == list(range(30))
    assert max(held) <= AHEAD * 2


@pytest.mark.parametrize("seed", range(5))
def test_every_third_call_that_takes_its_worker_with_it_changes_nothing(seed):
    count = iter(range(10**6))
    ray = Calls(lambda number: RayError("the node is gone") if next(count) % 3 == 2 else None, seed)
    assert list(crew_of(ray).states(range(30))) == list(range(30))
    assert ray.hired > 3 + 5
    assert ray.most <= 3


def test_a_call_that_raises_is_given_to_a_new_worker():
    failed = []

    def fate(number):
        if number == 7 and not failed:
            failed.append(number)
            return RayTaskError(OSError("the file server hung up"))
        return None

    ray = Calls(fate)
    assert list(crew_of(ray).states(range(10))) == list(range(10))
    assert failed == [7]
    assert ray.hired == 4


def test_a_state_that_is_lost_with_its_node_is_made_again():
    lost = iter([RayError("the object is lost")])
    ray = Calls(lost=lambda number: next(lost, None) if number == 4 else None)
    assert list(crew_of(ray).states(range(10))) == list(range(10))
    assert ray.given == 11


def test_a_shard_that_no_worker_survives_ends_the_survey_with_the_reason():
    ray = Calls(lambda number: RayError("out of memory") if number == 5 else None)
    found = []
    with pytest.raises(RequestError, match=r"^expected workers that finish a shard, got 7 lost .* \(out of memory\)"):
        found.extend(crew_of(ray, workers=2).states(range(10)))
    assert TRIES * 2 + 1 == 7


def test_an_error_that_a_user_can_put_right_is_raised_as_it_is():
    ray = Calls(lambda number: RayTaskError(NonFiniteError("expected finite hidden states, got NaN")))
    with pytest.raises(NonFiniteError, match=r"^expected finite hidden states, got NaN$"):
        next(crew_of(ray).states(range(3)))


def test_a_worker_with_another_model_is_refused():
    other = ({"plain": "pilot"}, {"medians": np.arange(3.0) * 1.5})
    with pytest.raises(SourceError, match=r"^expected the model of this survey on every worker, got other weights"):
        next(crew_of(Calls(), pilot=other).states(range(3)))


def test_a_worker_that_rounds_otherwise_is_taken_and_named_once(capsys):
    near = ({"plain": "pilot"}, {"medians": np.arange(3.0) + 1e-7})
    assert list(crew_of(Calls(), pilot=near).states(range(9))) == list(range(9))
    assert capsys.readouterr().err.count("a worker's processor rounds otherwise") == 1


def test_a_cluster_that_is_slow_to_give_workers_is_named_once(capsys):
    ray = Calls()
    crew, wait, silent = crew_of(ray), ray.wait, iter([([], []), ([], [])])
    ray.wait = lambda *given, **options: next(silent, None) or wait(*given, **options)
    assert list(crew.states(range(3))) == list(range(3))
    said = "waiting for a Ray worker to have the model: each takes 1 CPUs and 0 GPUs of one node"
    assert capsys.readouterr().err.count(said) == 1


def test_all_workers_are_let_go():
    ray = Calls()
    crew = crew_of(ray)
    states = crew.states(range(20))
    next(states)
    crew.close()
    assert ray.alive == set()

"""The model's thread: one question at a time, loading in words, failure, another try, and an end."""

import threading
import time

import pytest

from armillary.errors import SourceError
from armillary.explorer.worker import Cancelled, Worker


def until(seen, seconds=5.0):
    end = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


def test_the_states_of_loading_are_told_in_words():
    go = threading.Event()

    def load(tell):
        tell("reading")
        go.wait(5)
        return "model"

    worker = Worker(load)
    assert worker.status()["state"] == "not loaded"
    job = worker.ask(lambda model, job: model.upper())
    until(lambda: worker.status().get("stage") == "reading")
    assert worker.status()["state"] == "loading"
    assert worker.status()["waiting"] == 1
    go.set()
    assert job.future.result(5) == "MODEL"
    assert worker.status() == {"state": "ready", "running": 0, "waiting": 0}
    worker.close()


def test_a_failed_load_is_one_line_and_is_tried_again_only_when_asked():
    tries = []

    def load(tell):
        tries.append(1)
        if len(tries) < 2:
            raise SourceError("no such\nmodel")
        return "model"

    worker = Worker(load)
    for _ in range(2):
        with pytest.raises(SourceError):
            worker.ask(lambda model, job: model).future.result(5)
    assert worker.status()["message"] == "no such model"
    assert len(tries) == 1
    worker.begin(again=True)
    assert worker.ask(lambda model, job: model).future.result(5) == "model"
    worker.begin(again=True)
    assert len(tries) == 2
    worker.close()


def test_questions_run_one_at_a_time_in_their_order():
    worker, inside, order = Worker(lambda tell: None), [], []

    def question(number):
        def work(model, job):
            inside.append(number)
            assert len(inside) == 1
            time.sleep(0.01)
            inside.pop()
            order.append(number)

        return work

    jobs = [worker.ask(question(number)) for number in range(5)]
    for job in jobs:
        job.future.result(5)
    assert order == [0, 1, 2, 3, 4]
    worker.close()


def until_cancelled(begun):
    """A question that says when it has begun, and then has no end."""

    def endless(model, job):
        begun.set()
        while True:
            job.check()
            time.sleep(0.002)

    return endless


def test_cancelling_stops_what_runs_and_what_waits_has_not_begun():
    worker, begun = Worker(lambda tell: None), threading.Event()
    endless = until_cancelled(begun)
    one = worker.ask(endless)
    begun.wait(5)
    other = worker.ask(lambda model, job: pytest.fail("it was cancelled"))
    other.cancel()
    one.cancel()
    for job in (one, other):
        with pytest.raises(Cancelled):
            job.future.result(5)
    assert worker.ask(lambda model, job: 3).future.result(5) == 3
    worker.close()


def test_closing_cancels_everything():
    worker, begun = Worker(lambda tell: None), threading.Event()
    endless = until_cancelled(begun)
    job = worker.ask(endless)
    begun.wait(5)
    worker.close()
    with pytest.raises(Cancelled):
        job.future.result(5)

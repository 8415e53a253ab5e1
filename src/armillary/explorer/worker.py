"""One thread for one model: it loads when first needed, answers one question at a time, and can be stopped."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from armillary.errors import ArmillaryError, reason

Tell = Callable[[str], None]
Load = Callable[[Tell], Any]


class Cancelled(Exception):  # noqa: N818  (nothing went wrong)
    """The question is no longer asked."""


class Job:
    """A question on its way: its answer to come, and a flag that the model's blocks look at as they run."""

    def __init__(self, pool: ThreadPoolExecutor, work: Callable[["Job"], Any]) -> None:
        self._cancelled = threading.Event()
        self.future: Future[Any] = pool.submit(work, self)

    def cancel(self) -> None:
        """Stop at the next block, or do not begin."""
        self._cancelled.set()

    def check(self) -> None:
        """Stop here if nobody waits for the answer."""
        if self._cancelled.is_set():
            raise Cancelled


class Worker:
    """Loads a model once and asks it one question at a time, in a thread of its own."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="armillary-model")
        self._lock = threading.Lock()
        self._loading: Future[Any] | None = None
        self._stage, self._began = "", 0.0
        self._jobs: list[Job] = []

    def begin(self, *, again: bool = False) -> "Future[Any]":
        """Start to load the model, unless that was done; `again` also after a failure."""
        with self._lock:
            failed = self._loading is not None and self._loading.done() and self._loading.exception() is not None
            if self._loading is None or (again and failed):
                self._stage, self._began = "waiting to begin", time.monotonic()
                self._loading = self._pool.submit(self._load, self._tell)
            return self._loading

    def status(self) -> dict[str, Any]:
        """State of the model in words, and how many questions run and wait."""
        with self._lock:
            loading, jobs = self._loading, [job.future for job in self._jobs if not job.future.done()]
        running = sum(future.running() for future in jobs)
        asked = {"running": running, "waiting": len(jobs) - running}
        if loading is None:
            return {"state": "not loaded"} | asked
        if not loading.done():
            seconds = round(time.monotonic() - self._began, 1)
            return {"state": "loading", "stage": self._stage, "seconds": seconds} | asked
        error = loading.exception()
        return ({"state": "ready"} if error is None else {"state": "failed", "message": one_line(error)}) | asked

    def ask(self, question: Callable[[Any, Job], Any]) -> Job:
        """Put a question to the model; it waits until the model is there and the questions before it are answered."""
        loading = self.begin()

        def work(job: Job) -> Any:
            job.check()
            return question(loading.result(), job)

        job = Job(self._pool, work)
        with self._lock:
            self._jobs = [*(other for other in self._jobs if not other.future.done()), job]
        return job

    def close(self) -> None:
        """Cancel everything; what runs stops at the next block."""
        with self._lock:
            jobs = list(self._jobs)
        for job in jobs:
            job.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _tell(self, stage: str) -> None:
        self._stage = stage


def one_line(error: BaseException) -> str:
    """An error in one line: its own if it is one of ours, else its kind and its first line."""
    if isinstance(error, ArmillaryError):
        return " ".join(str(error).split())
    return f"{type(error).__name__}: {reason(error)}"

"""Many small pieces of work side by side: a thread for each, none inside a matrix product."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def libraries() -> ThreadpoolController:
    """The thread pools of the numerical libraries in this process; looking for them takes a while."""
    return ThreadpoolController()


@cache
def workers(threads: int) -> ThreadPoolExecutor:
    """Threads that last as long as the process, and with them the memory that they have worked in."""
    return ThreadPoolExecutor(threads, thread_name_prefix="armillary")


class OneCoreEach:
    """Matrix products stay on one core for as long as anybody asks: the first caller says so, the last takes it back.

    The libraries' own switch is one for the whole process: of two callers at once, the first to leave would turn it.
    """

    def __init__(self) -> None:
        self.lock, self.callers = threading.Lock(), 0
        self.limits: Any = None

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Products on one core while this lasts."""
        with self.lock:
            if not self.callers:
                self.limits = libraries().limit(limits=1, user_api="blas")
            self.callers += 1
        try:
            yield
        finally:
            with self.lock:
                self.callers -= 1
                if not self.callers:
                    self.limits.restore_original_limits()


one_core_each = OneCoreEach()


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None) -> list[Result]:
    """`work` on every item, in order. Small products are faster whole on one core each than shared out among cores.

    Several threads may call this at once and share the workers; `work` itself must not, it would wait for itself.
    """
    with one_core_each.asked():
        return list(workers(threads or os.cpu_count() or 1).map(work, items))

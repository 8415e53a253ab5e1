"""Many small pieces of work side by side: a thread for each, none inside a matrix product."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
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


def one_core_each() -> AbstractContextManager[Any]:
    """Products of matrices on one core while this lasts: small ones wait longer for a second core than they gain.

    The more so where torch's own threads keep the cores busy.
    """
    return libraries().limit(limits=1, user_api="blas")


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None) -> list[Result]:
    """`work` on every item, in order. Small products are faster whole on one core each than shared out among cores.

    `work` must not call this itself: it would wait for itself.
    """
    with one_core_each():
        return list(workers(threads or os.cpu_count() or 1).map(work, items))

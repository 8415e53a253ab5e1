"""Many small pieces of work side by side: a thread for each, none inside a matrix product."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def libraries() -> ThreadpoolController:
    """The thread pools of the numerical libraries in this process; looking for them takes a while."""
    return ThreadpoolController()


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None) -> list[Result]:
    """`work` on every item, in order. Small products are faster whole on one core each than shared out among cores."""
    with libraries().limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        return list(pool.map(work, items))

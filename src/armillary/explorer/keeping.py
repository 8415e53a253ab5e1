"""Answers that stay in memory, the last asked for: what was computed once is not computed again."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any


class Kept:
    """Answers by what was asked, dropped from the oldest on when they take too many bytes together."""

    def __init__(self, most: int, size: Callable[[Any], int]) -> None:
        self._most, self._size = most, size
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()

    def __call__(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The answer to `key`, made if it is not there; the last one stays whatever its size."""
        if key not in self._answers:
            self._answers[key] = make()
        self._answers.move_to_end(key)
        while len(self._answers) > 1 and sum(map(self._size, self._answers.values())) > self._most:
            self._answers.popitem(last=False)
        return self._answers[key]

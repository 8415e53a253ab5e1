"""What was computed once is kept until there is too much of it."""

import pytest

from armillary.explorer.keeping import Kept


def test_an_answer_is_made_once_and_the_oldest_goes_first():
    made = []

    def make(key, size):
        return kept(key, lambda: made.append(key) or "x" * size)

    kept = Kept(10, len)
    assert make("a", 4) == make("a", 4) == "xxxx"
    make("b", 4)
    make("a", 4)
    make("c", 4)
    make("a", 4)
    make("b", 4)
    assert made == ["a", "b", "c", "b"]


def test_the_last_answer_stays_whatever_its_size():
    kept = Kept(1, len)
    assert kept("large", lambda: "x" * 9) == kept("large", lambda: "other")


def test_an_answer_that_failed_is_not_kept():
    kept = Kept(10, len)
    with pytest.raises(ZeroDivisionError):
        kept("a", lambda: 1 / 0)
    assert kept("a", lambda: "made") == "made"

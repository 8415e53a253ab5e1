"""What the messages are made of: near names, ranges, reasons."""

from pathlib import Path

import pytest

from armillary.errors import RequestError, SourceError, did_you_mean, not_written, reason, refuse_outside


def test_a_name_that_is_almost_right_is_named_and_else_all_are():
    assert did_you_mean("smolm2", ["smollm2", "minilm"]) == "did you mean smollm2?"
    assert did_you_mean("zzz", ["smollm2", "minilm"]) == "choose smollm2, minilm"
    assert did_you_mean("zzz", []) == "choose none: there are none"


@pytest.mark.parametrize("value", [-1, 3, float("nan"), 2.5])
def test_a_number_out_of_range_is_refused(value):
    with pytest.raises(RequestError, match=f"^expected a block from 0 to 2, got {value}$"):
        refuse_outside("a block", value, 0, 2)
    with pytest.raises(SourceError):
        refuse_outside("a block", value, 0, 2, SourceError)


def test_the_ends_of_a_range_are_in_it():
    refuse_outside("a block", 0, 0, 2)
    refuse_outside("a block", 2, 0, 2)


def test_a_reason_is_one_line_without_the_path():
    assert reason(FileNotFoundError(2, "No such file or directory", "a/b")) == "No such file or directory"
    assert reason(ValueError("first\nsecond")) == "first"
    assert reason(KeyError()) == "KeyError"
    assert str(not_written(Path("a"), OSError(28, "No space left"))).startswith("cannot write a (No space left): free")


def test_a_failing_disk_is_to_be_checked_not_emptied():
    said = str(not_written(Path("a"), OSError(5, "Input/output error")))
    assert said == "cannot write a (Input/output error): check the disk or choose another --out"

"""A results file is data from a stranger: whatever it holds, it is refused in one line, quickly, in little memory."""

import os
import sys
import time

import pytest
from hostile_results import SENT, SPOILT, spoilt, valid

import armillary as arm
from armillary.cli import main
from armillary.errors import StoreError
from peak_memory import peak


def refused(folder):
    """The line with which a folder is refused, in no more than ten seconds and half a gigabyte."""
    began, before = time.monotonic(), peak(forget=True)
    with pytest.raises(StoreError) as raised:
        arm.open(folder)
    assert time.monotonic() - began < 10
    assert peak() - before < 500_000
    line = str(raised.value)
    assert line.startswith(f"{folder / 'states.nc'}")
    assert "\n" not in line
    assert len(line) < 600
    return line


def test_a_file_that_nobody_spoilt_opens(tmp_path):
    valid(tmp_path / "states.nc").close()
    assert arm.open(tmp_path).results["norms"].norm.values.tolist() == [1, 2, 3]


@pytest.mark.parametrize("how", SPOILT, ids=lambda how: how.__name__)
def test_a_hostile_file_is_refused_in_one_line(tmp_path, how):
    refused(spoilt(tmp_path, how))


@pytest.mark.parametrize("made", SENT, ids=lambda made: made.__name__)
def test_what_is_no_file_or_declares_more_than_it_holds_is_refused(tmp_path, made):
    refused(made(tmp_path))


def ended(arguments, said):
    """Exit code and used resources of a command in a fork of this process, which says what it says to a file."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        sys.argv = ["armillary", *arguments]
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        code = 1
        try:
            main()
        except SystemExit as left:
            code = left.code
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), used


@pytest.mark.nightly
@pytest.mark.parametrize("how", [*SPOILT, *SENT], ids=lambda how: how.__name__)
def test_every_command_refuses_it_in_one_line_with_code_2(tmp_path, how):
    folder = spoilt(tmp_path, how) if how in SPOILT else how(tmp_path)
    before = peak(forget=True)
    for command in ("show", "report", "measure"):
        with (tmp_path / command).open("w+") as said:
            code, used = ended([command, str(folder)], said)
        line = (tmp_path / command).read_text()
        assert code == 2, line
        assert line.startswith(f"armillary: {folder / 'states.nc'}"), line
        assert line.count("\n") == 1
        assert used.ru_maxrss - before < 500_000
        assert used.ru_utime + used.ru_stime < 20  # of the processor, all imports in it

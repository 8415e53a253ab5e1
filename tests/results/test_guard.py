"""A results file is data from a stranger: whatever it holds, it is refused in one line, quickly, in little memory."""

import os
import resource
import subprocess
import sys
import time

import pytest
from hostile_results import SENT, SPOILT, spoilt, valid

import armillary as arm
from armillary.errors import StoreError


def refused(folder):
    """The line with which a folder is refused; no more than five seconds, no gigabyte."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(StoreError) as raised:
        arm.open(folder)
    assert time.monotonic() - began < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000
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


@pytest.mark.nightly
@pytest.mark.parametrize("how", [*SPOILT, *SENT], ids=lambda how: how.__name__)
@pytest.mark.parametrize("command", ["show", "report", "measure"])
def test_every_command_refuses_it_in_one_line_with_code_2(tmp_path, command, how):
    folder = spoilt(tmp_path, how) if how in SPOILT else how(tmp_path)
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "armillary", command, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    with process.stdout as out:
        said = out.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 2, said
    assert said.startswith(f"armillary: {folder / 'states.nc'} "), said
    assert said.count("\n") == 1
    assert used.ru_maxrss < 1_000_000
    assert time.monotonic() - began < 30  # of which the start of Python, on a busy machine, takes a part

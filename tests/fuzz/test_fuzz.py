"""Whatever a file or a request holds: it is read, or refused in one line, soon and in little memory.

Every night twenty thousand inputs for each reader, in processes of their own, so that a crash is seen as one.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from feeding import fed, one
from reader import Reader
from readers import READERS

QUICK = ["toml", "wheel", "jsonl", "jsonl-gz", "text-gz", "gguf", "gguf-model"]
"""Readers whose inputs take milliseconds."""

BLOCK, NIGHTLY = 2_000, 20_000


@pytest.mark.parametrize("name", QUICK)
def test_spoilt_inputs_are_read_or_refused_in_one_line(name):
    counts, finds = fed(name, 1_000_000, 40)
    assert finds == []
    assert counts["refused"] > 10


class Hungry(Reader):
    """Takes a little more memory than is allowed, and gives it back."""

    def read(self, folder):
        np.ones(1_100_000_000, np.uint8)


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not forget what a process once had")
def test_an_input_that_takes_much_memory_does_not_hide_the_next(tmp_path):
    assert [one(Hungry(), tmp_path) for _ in range(2)] == ["memory: over 1 GB"] * 2


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(0, NIGHTLY, BLOCK))
@pytest.mark.parametrize("name", READERS)
def test_twenty_thousand_spoilt_inputs_are_read_or_refused_in_one_line(name, first):
    command = [sys.executable, str(Path(__file__).parent / "feeding.py"), name, str(first), str(BLOCK)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert json.loads(ended.stdout.splitlines()[-1])["finds"] == []


FAULTS = str(Path(__file__).parent / "faults.py")


@pytest.mark.nightly
def test_a_hundred_kills_of_each_command_damage_no_file_and_leave_none_behind():
    subprocess.run([sys.executable, FAULTS, "kills", "100"], check=True)


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("cc") is None, reason="the failing disk is made with a C compiler")
def test_fifty_full_and_fifty_failing_disks_leave_the_old_results():
    subprocess.run([sys.executable, FAULTS, "disk", "50"], check=True)

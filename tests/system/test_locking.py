"""Two processes do not share a folder, and what a killed one left there is swept."""

import os
import subprocess
import sys

import pytest

from armillary.errors import StoreError
from armillary.system.files import sweep
from armillary.system.locking import alone

HOLDS = """
import sys
from pathlib import Path
from armillary.system.locking import alone
with alone(Path(sys.argv[1]), "a survey"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_held_until_its_process_ends_or_is_killed(tmp_path):
    folder = tmp_path / "run" / "checkpoint"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout.readline() == "held\n"
        message = r"^expected a folder that no other process writes to, got .*run, where a survey is running: wait"
        with pytest.raises(StoreError, match=message), alone(folder, "a survey"):
            pass
        process.kill()
    with alone(folder, "a survey"):
        assert folder.is_dir()
    assert list((tmp_path / "run").iterdir()) == []


def test_unfinished_files_of_processes_that_are_gone_are_swept_and_no_others(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    names = [f".states.nc.{gone.pid}.tmp", f".states.nc.{gone.pid}.room"]
    stay = ["states.nc", ".lock", f".states.nc.{os.getpid()}.tmp", ".notes.tmp", f"states.nc.{gone.pid}.tmp"]
    for name in (*names, *stay):
        (tmp_path / name).write_text("")
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(stay)
    sweep(tmp_path / "missing")

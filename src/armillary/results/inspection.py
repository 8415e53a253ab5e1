"""What results files say of themselves, asked of `guard` in a process with limits: HDF5 never runs in this one."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from armillary.errors import StoreError, reason
from armillary.results import guard

WAIT = 120
"""Seconds after which looking into files is given up, whatever keeps it: its processor time is limited already."""


def inspected(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """What each file says, checked; one that is not what a run writes is refused."""
    for path in paths:
        refuse_irregular(path)
    return [said(path, answer) for path, answer in zip(paths, answers(paths), strict=True)]


def said(path: Path, answer: dict[str, Any]) -> dict[str, Any]:
    """The description in an answer, or an error with the reason in it."""
    if "refused" in answer:
        raise refusal(path, answer["refused"])
    return dict(answer["file"])


def refusal(path: Path, why: str) -> StoreError:
    """A file that cannot be read or is not to be trusted."""
    return StoreError(f"{path} is not a results file of Armillary ({why}): restore it or survey again")


def refuse_irregular(path: Path) -> None:
    """Refuse what is no file before it is opened: opening a pipe would wait for ever."""
    try:
        found = path.stat()
    except OSError as error:
        raise refusal(path, reason(error)) from error
    if not stat.S_ISREG(found.st_mode):
        raise refusal(path, "it is no regular file")
    if not os.access(path, os.R_OK):
        raise refusal(path, "Permission denied")


def answers(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """What the guard answers for each file; one that brings its process down is asked about by itself."""
    asked = [os.path.abspath(path) for path in paths]
    if not sys.executable:  # a Python inside another program
        return [guard.answered(path) for path in asked]
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, "-P", guard.__file__, *asked]
    try:
        ended = subprocess.run(command, capture_output=True, env=environment, timeout=WAIT, check=False)
        lines = ended.stdout.splitlines() if ended.returncode == 0 else []
    except subprocess.TimeoutExpired:
        lines = []
    if len(lines) == len(paths):
        return [json.loads(line) for line in lines]
    if len(paths) > 1:
        return [answers([path])[0] for path in paths]
    return [{"refused": f"HDF5 cannot read it within {guard.SECONDS} s and {guard.MEMORY >> 30} GB"}]

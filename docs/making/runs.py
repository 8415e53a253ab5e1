"""The runs that the pages draw from: each is made once, by the commands that the pages show."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build" / "docs"
"""Where commands run; `runs/minilm` in a page is below it."""

TEXT = "To kill two birds with one stone"
COMMANDS = (
    "armillary survey minilm --contexts 32 --length 64 --heads --covariance attention --out runs/minilm",
    "armillary heads runs/minilm",
    "armillary survey minilm --contexts 32 --length 64 --heads --random-weights --out runs/random",
    "armillary weights minilm --run runs/minilm",
    "armillary stores minilm --run runs/minilm",
    f"armillary travel minilm '{TEXT}' --run runs/minilm",
    "armillary gaussian runs/minilm --windows 32",
    "armillary simulate localization --out runs/walks",
    "armillary train addition --steps 300 --layers 2 --width 64 --geometry-every 50 --problems 100 --out runs/addition",
    "armillary report runs/minilm runs/random",
)
REPORTS = {"report.html": "minilm/report.html", "comparison.html": "minilm/comparison.html"}
"""Pages of the product that the site shows as they are, by the name that they have there."""

log = logging.getLogger(__name__)


def make(app: Sphinx) -> None:
    """Run every command, unless all of them have been run; `make clean` forgets that."""
    done, all_of_them = PLACE / "made.txt", "\n".join(COMMANDS)
    if done.exists() and done.read_text(encoding="utf-8") == all_of_them:
        return
    shutil.rmtree(PLACE / "runs", ignore_errors=True)
    PLACE.mkdir(parents=True, exist_ok=True)
    for command in COMMANDS:
        log.info(command)
        run(command)
    done.write_text(all_of_them, encoding="utf-8")


def run(command: str) -> str:
    """What a command prints on a terminal of 80 columns; one that fails ends the build with its message."""
    words = shlex.split(command)
    if words[0] != "armillary":
        raise ValueError(f"expected a command of armillary, got {command}: the site runs no other")
    terminal = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    ended = subprocess.run(
        [sys.executable, "-m", "armillary", *words[1:]],
        **{"cwd": PLACE, "env": terminal, "capture_output": True, "encoding": "utf-8", "check": False},
    )
    if ended.returncode:
        raise RuntimeError(f"{command} ended with {ended.returncode}: {ended.stderr.strip()}")
    return ended.stdout


def put_reports(app: Sphinx, failed: Exception | None) -> None:
    """Copy the pages of the product beside those of the site."""
    for name, source in REPORTS.items() if failed is None else ():
        shutil.copyfile(PLACE / "runs" / source, Path(app.outdir) / name)

"""Asking for help is quick: nothing heavy is imported before it is needed."""

import json
import os
import subprocess
import sys
import time

import pytest

HEAVY = {"torch", "transformers", "scipy", "xarray", "pandas", "plotly", "h5py", "datasets", "ray"}


def python(code, *arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, env=environment
    )


def loaded_by(*arguments):
    """The heavy packages in memory after a command of the command line."""
    code = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: sys.stderr.write(json.dumps(sorted({m.split('.')[0] for m in sys.modules}))))\n"
        "sys.argv[0] = 'armillary'\n"
        "from armillary.cli import main\n"
        "main()\n"
    )
    done = python(code, *arguments)
    return HEAVY & set(json.loads(done.stderr)), done.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["survey", "--help"], ["models"]], ids=" ".join)
def test_help_and_lists_load_nothing_heavy(arguments):
    heavy, out = loaded_by(*arguments)
    assert out.strip()
    assert heavy == set()


def test_corpora_are_listed_without_torch():
    heavy, out = loaded_by("corpora")
    assert "python-docs" in out
    assert not heavy & {"torch", "transformers", "xarray"}


def test_importing_armillary_loads_nothing_heavy():
    done = python("import sys, armillary; print(*{m.split('.')[0] for m in sys.modules})")
    assert not HEAVY & set(done.stdout.split())


def test_results_are_opened_without_torch():
    done = python(
        "import sys, armillary; armillary.open, armillary.table; print(*{m.split('.')[0] for m in sys.modules})"
    )
    assert {"xarray", "pandas"} <= set(done.stdout.split())
    assert not {"torch", "transformers"} & set(done.stdout.split())


def seconds(code):
    def once():
        start = time.perf_counter()
        python(code)
        return time.perf_counter() - start

    return min(once() for _ in range(3))


def test_help_takes_less_than_a_fifth_of_importing_torch():
    asked = "import sys; sys.argv = ['armillary', '--help']; from armillary.cli import main; main()"
    assert seconds(asked) < seconds("import torch") / 5

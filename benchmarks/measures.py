"""What the measures add to a survey: their time over that of everything else, in the same survey, medians.

    python benchmarks/measures.py [smollm2|minilm] [--repeats 5] [--report]

With --report the survey writes its page too, as it does by default; without, the rest is smaller and the share larger.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import torch

import armillary as arm
from armillary import results

SIZES = {"minilm": 256, "smollm2": 64}


def timed(function, into):
    """The function, its time added to a list."""

    def around(*given):
        start = time.perf_counter()
        found = function(*given)
        into.append(time.perf_counter() - start)
        return found

    return around


def measure(name, repeats, report):
    view, text = arm.load(name), arm.corpus("python-docs")
    spent, wholes = [], []
    plain, results.measured = results.measured, timed(results.measured, spent)
    for repeat in range(repeats + 1):
        folder = Path(tempfile.mkdtemp())
        start = time.perf_counter()
        arm.survey(view, text, contexts=SIZES[name], out=folder / "run", progress=False, report=report)
        wholes.append(time.perf_counter() - start)
        shutil.rmtree(folder)
        if repeat:  # the first warms up
            print(f"  survey {wholes[-1]:.2f} s, of it measures {spent[-1]:.2f} s", flush=True)
    results.measured = plain
    added = [mine / (whole - mine) for mine, whole in zip(spent[1:], wholes[1:], strict=True)]
    print(f"{name}: the measures add {100 * statistics.median(added):.1f} % (median of {repeats})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=["smollm2", "minilm"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    for model in given.models:
        measure(model, given.repeats, given.report)

"""What the measures add to a survey, as a part of the same survey without them; medians.

    python benchmarks/measures.py [smollm2|minilm] [--repeats 5] [--report]

The states are written while the measures are made, so what measures add is less than their own time: it is the time of
that step less its time where the measures are ready made. With --report the survey writes its page too, as it does by
default; without, the rest is smaller and the share larger.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import torch

import armillary as arm
from armillary.results import measuring as results
from armillary.surveys import survey

SIZES = {"minilm": 256, "smollm2": 64}


def times(view, text, contexts, report):
    """How long one survey takes, and of it the step that makes measures and writes the files."""
    folder, step, spent = Path(tempfile.mkdtemp()), survey.measure_and_write, []

    def timed(*given):
        start = time.perf_counter()
        step(*given)
        spent.append(time.perf_counter() - start)

    survey.measure_and_write = timed
    os.sync()
    start = time.perf_counter()
    arm.survey(view, text, contexts=contexts, out=folder / "run", progress=False, report=report)
    whole = time.perf_counter() - start
    survey.measure_and_write = step
    shutil.rmtree(folder)
    return whole, spent[0]


def measure(name, repeats, report):
    view, text = arm.load(name), arm.corpus("python-docs")
    real, made = results.measured, []
    results.measured = lambda groups: made.append(real(groups)) or made[-1]
    times(view, text, SIZES[name], report)  # warms up, and leaves what the measures give

    def once(side):
        results.measured = real if side == "made" else lambda groups: made[0]
        return times(view, text, SIZES[name], report)

    added = []
    for repeat in range(repeats):
        taken = {side: once(side) for side in ("made", "ready")[:: 1 if repeat % 2 == 0 else -1]}
        (whole, own), (_, without) = taken["made"], taken["ready"]
        added.append((own - without) / (whole - own + without))
        print(
            f"  survey {whole:.2f} s; its step {own:.2f} s, {without:.2f} s without measures: {added[-1]:+.1%}",
            flush=True,
        )
    results.measured = real
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

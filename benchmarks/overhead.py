"""What a survey costs beyond running the model: ratios in one run, sides alternating, medians, threads pinned.

    python benchmarks/overhead.py [minilm|smollm2] [--repeats 5] [--covariance attention] [--apart] [--backed]

The bare pass is the usual loop over batches, every product on all cores. A survey runs two batches at a time, each on
half of the cores, which is quicker; so the sides are also compared with a bare pass that does the same ("paired").

All sides share a process, and so the memory that either has asked for: the bare pass then finds it ready after a
survey. With --apart every side runs in a process of its own, as programs do that either survey a model or run it.

A virtual machine may hand free memory back to its host, and memory that is asked for is then fetched from there page
by page: 2.4 ms a megabyte where this was written, a tenth of a millisecond on a machine of its own. A survey asks for a
gigabyte. With --backed its sums get memory that was touched before and is cleared when it is asked for.
"""

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch

import armillary as arm
from armillary.corpora.tokens import token_text
from armillary.surveys.checkpoint import Checkpoint
from armillary.surveys.engines.local import local
from armillary.surveys.preparing import draw, ordered, plan_of
from armillary.surveys.running import shared_out
from armillary.surveys.settings import Settings
from armillary.surveys.sums import batch
from armillary.surveys.survey import finished_groups, measure_and_write
from armillary.surveys.tables import captured_groups
from armillary.system import mappings

SIZES = {"minilm": 256, "smollm2": 64}
SIDES = ("bare", "paired", "survey")


class Backed:
    """Memory that this process holds, touched before, instead of what the system gives."""

    SIZE = 3 << 30

    def __init__(self):
        self.memory = np.ones(self.SIZE, np.uint8)
        self.end = 0

    def mapping(self, size):
        """Cleared memory; what was given out before is forgotten with `start_again`."""
        size = -(-max(size, 1) // 4096) * 4096
        given = self.memory[self.end : self.end + size]
        assert len(given) == size, "the survey asks for more"
        self.end += size
        given[:] = 0
        return memoryview(given)

    def start_again(self):
        self.end = 0


def bare(view, plan):
    with torch.inference_mode():
        for tokens in torch.from_numpy(plan.tokens).split(plan.batch):
            view.backbone(input_ids=tokens, use_cache=False)


def paired(view, plan):
    """The bare pass, two batches at a time."""

    @torch.inference_mode()
    def run(tokens):
        view.backbone(input_ids=tokens, use_cache=False)

    at_once, share = shared_out(view.device, known=True)
    with ThreadPoolExecutor(at_once, initializer=torch.set_num_threads, initargs=(share,)) as crew:
        list(crew.map(run, torch.from_numpy(plan.tokens).split(plan.batch)))


def everything(view, drawn, plan, folder):
    """The pass with its checkpoints, then tables, then measures and file, which are made together; the time of each."""
    times = [time.perf_counter()]
    state, first = local(view, plan, lambda windows: None, Checkpoint(folder / "checkpoint", "benchmark"))
    times.append(time.perf_counter())
    captured = captured_groups(state, plan, first, attention=True)
    del state
    times.append(time.perf_counter())
    measure_and_write(folder, finished_groups(captured, drawn, plan, partial(token_text, view.tokenizer)), {})
    times.append(time.perf_counter())
    return [after - before for before, after in itertools.pairwise(times)]


def prepared(name, covariance):
    """The model, the windows and the plan of the default survey, after a first pass over all windows."""
    view = arm.load(name)
    settings = Settings.of(contexts=SIZES[name], covariance=covariance)
    drawn, rule = ordered(draw(view, arm.corpus("python-docs"), settings))
    plan = plan_of(drawn, rule.index, settings)
    bare(view, plan)
    return view, drawn, plan


def once(side, view, drawn, plan, pool=None):
    """The seconds of one side, step by step."""
    if pool is not None:
        pool.start_again()
    folder = Path(tempfile.mkdtemp())
    os.sync()
    start = time.perf_counter()
    if side == "survey":
        steps = everything(view, drawn, plan, folder)
    else:
        {"bare": bare, "paired": paired}[side](view, plan)
        steps = [time.perf_counter() - start]
    shutil.rmtree(folder)
    return steps


def in_a_process(side, name, covariance, threads):
    """The same in a process of its own."""
    options = ["--covariance", covariance, "--threads", str(threads), "--side", side]
    found = subprocess.run([sys.executable, __file__, name, *options], capture_output=True, text=True, check=True)
    return json.loads(found.stdout.splitlines()[-1])


def measure(name, repeats, covariance, threads, *, apart, pool):
    ready = None if apart else (*prepared(name, covariance), pool)
    ratios = []
    for repeat in range(repeats):
        steps = {}
        for side in SIDES[:: 1 if repeat % 2 == 0 else -1]:
            steps[side] = in_a_process(side, name, covariance, threads) if apart else once(side, *ready)
        (alone,), (pair,), taken = (steps[side] for side in SIDES)
        ratios.append([time / base for base in (alone, pair) for time in (taken[0], sum(taken))])
        parts = zip(("pass", "tables", "measures and file"), taken, strict=True)
        print(
            f"  {ratios[-1][0]:.3f} pass  {ratios[-1][1]:.3f} all   bare {alone:.2f} s, paired {pair:.2f}; "
            + ", ".join(f"{what} {t:.2f}" for what, t in parts),
            flush=True,
        )
    middle = [statistics.median(column) for column in zip(*ratios, strict=True)]
    how = (", processes apart" if apart else "") + (", backed memory" if pool else "")
    print(
        f"{name} {SIZES[name]} windows, covariance {covariance}{how}: "
        f"pass {middle[0]:.3f}, with everything {middle[1]:.3f}; over a paired bare pass {middle[2]:.3f} and "
        f"{middle[3]:.3f} (medians of {repeats})"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=["minilm", "smollm2"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--covariance", default="residual")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--backed", action="store_true")
    parser.add_argument("--side", choices=SIDES)
    given = parser.parse_args()
    if given.backed and (given.apart or given.side):
        parser.error("expected --backed or --apart, got both: memory that one process holds is not another's")
    torch.set_num_threads(given.threads)
    ready_memory = Backed() if given.backed else None
    if ready_memory is not None:
        batch.mapping = mappings.mapping = ready_memory.mapping
    for model in given.models:
        if given.side:
            print(json.dumps(once(given.side, *prepared(model, given.covariance))))
        else:
            measure(model, given.repeats, given.covariance, given.threads, apart=given.apart, pool=ready_memory)

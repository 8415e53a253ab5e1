"""What a survey costs beyond running the model: ratios in one run, sides alternating, medians, threads pinned.

python benchmarks/overhead.py [minilm|smollm2] [--repeats 5] [--covariance attention]
"""

import argparse
import itertools
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import torch

import armillary as arm
from armillary import store
from armillary.capture.checkpoint import Checkpoint
from armillary.capture.engines import local
from armillary.capture.survey import draw, finish, ordered, plan_of
from armillary.capture.tables import captured_groups
from armillary.settings import Settings

SIZES = {"minilm": 256, "smollm2": 64}


def bare(view, plan):
    with torch.inference_mode():
        for shard in plan.shards:
            for rows in plan.batches(shard):
                tokens = torch.from_numpy(plan.tokens[rows.start : rows.stop])
                view.backbone(input_ids=tokens, use_cache=False)


def everything(view, drawn, plan, folder):
    """The pass with its checkpoints, then tables, measures and file; the time after each."""
    times = [time.perf_counter()]
    state, medians = local(view, plan, lambda windows: None, Checkpoint(folder / "checkpoint", "benchmark"))
    times.append(time.perf_counter())
    captured = captured_groups(state, plan, medians, attention=True)
    del state
    times.append(time.perf_counter())
    groups = finish(captured, drawn, plan, view.tokenizer)
    times.append(time.perf_counter())
    store.write(folder, store.STATES, groups, {})
    times.append(time.perf_counter())
    return [after - before for before, after in itertools.pairwise(times)]


def measure(name, repeats, covariance):
    view = arm.load(name)
    settings = Settings.of(contexts=SIZES[name], covariance=covariance)
    drawn, rule = ordered(draw(view, arm.corpus("python-docs"), settings))
    plan = plan_of(drawn, rule.index, settings)
    bare(view, plan)
    passes, wholes = [], []
    for repeat in range(repeats):
        folder = Path(tempfile.mkdtemp())
        order = ["bare", "survey"] if repeat % 2 == 0 else ["survey", "bare"]
        for side in order:
            os.sync()
            start = time.perf_counter()
            if side == "bare":
                bare(view, plan)
                alone = time.perf_counter() - start
            else:
                steps = everything(view, drawn, plan, folder)
        shutil.rmtree(folder)
        passes.append(steps[0] / alone)
        wholes.append(sum(steps) / alone)
        print(
            f"  {passes[-1]:.3f} pass  {wholes[-1]:.3f} all   bare {alone:.2f} s, "
            + ", ".join(
                f"{what} {t:.2f}" for what, t in zip(("pass", "tables", "measures", "file"), steps, strict=True)
            ),
            flush=True,
        )
    print(
        f"{name} {SIZES[name]} × {settings.length}, covariance {covariance}: "
        f"pass {statistics.median(passes):.3f}, with everything {statistics.median(wholes):.3f} (medians of {repeats})"
    )
    return statistics.median(passes), statistics.median(wholes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=["minilm", "smollm2"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--covariance", default="residual")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    for model in given.models:
        measure(model, given.repeats, given.covariance)

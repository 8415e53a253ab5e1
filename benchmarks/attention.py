"""What statistics of all heads cost beside the same pass in eager mode: ratios in one run, sides alternating, medians.

    python benchmarks/attention.py [minilm|smollm2] [--windows 16] [--length 512] [--repeats 5]

Time: the pass with every statistic of every head (what `survey --heads` adds), over the bare eager pass, which has to
form the maps too; at most 1.5 is the aim. Memory: the peak resident size beyond that of the loaded, warmed-up model,
over that of keeping `output_attentions`; at most 1/3 is the aim. Each memory figure comes from a process of its own.
"""

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import torch

import armillary as arm
from armillary.attention.reading import reading_heads
from armillary.surveys.plan import Plan, batch_size
from armillary.surveys.sums.heads import Heads


def plan_for(view, windows, length):
    tokens = np.random.default_rng(0).integers(1000, view.W_E.shape[0], (windows, length))
    groups = np.arange(windows) * min(16, windows) // windows
    return Plan(tokens, groups, 0, "drop", "drop", "residual", "residual", batch_size(length, None), heads=True)


def batches(view, plan):
    for shard in plan.shards:
        for rows in plan.batches(shard):
            yield rows, torch.from_numpy(plan.tokens[rows.start : rows.stop])


def eager(view, plan, *, keep=False):
    """The pass as transformers does it with maps; with `keep` those of a batch are handed over, as a user asks."""
    view.model.set_attn_implementation("eager")
    for _, tokens in batches(view, plan):
        view.backbone(input_ids=tokens, use_cache=False, output_attentions=keep)


def statistics_of_heads(view, plan):
    """The pass with all statistics, summed by group."""
    view.model.set_attn_implementation("sdpa")
    total = None
    with reading_heads(view, skipped=1, drop=True) as read:
        for rows, tokens in batches(view, plan):
            read.ranked = tuple(row for row, context in enumerate(rows) if context in plan.ranked)
            view.backbone(input_ids=tokens, use_cache=False)
            seen = Heads.of(read.take(view.n_blocks), tuple(plan.groups[rows.start : rows.stop].tolist()))
            total = seen if total is None else total.merge(seen)
    return total


SIDES = {
    "eager": eager,
    "kept": lambda view, plan: eager(view, plan, keep=True),
    "statistics": statistics_of_heads,
}


def timed(work, view, plan):
    start = time.perf_counter()
    work(view, plan)
    return time.perf_counter() - start


@torch.inference_mode()
def time_ratio(name, windows, length, repeats):
    view = arm.load(name)
    plan = plan_for(view, windows, length)
    eager(view, plan_for(view, 2, length))
    statistics_of_heads(view, plan_for(view, 2, length))
    ratios = []
    for repeat in range(repeats):
        order = ["eager", "statistics"] if repeat % 2 == 0 else ["statistics", "eager"]
        taken = {side: timed(SIDES[side], view, plan) for side in order}
        ratios.append(taken["statistics"] / taken["eager"])
        print(f"  {ratios[-1]:.3f}   eager {taken['eager']:.2f} s, statistics {taken['statistics']:.2f} s", flush=True)
    return statistics.median(ratios)


@torch.inference_mode()
def peak(name, length, side):
    """Peak bytes of one side beyond the warmed-up model, in this process."""
    view = arm.load(name)
    plan = plan_for(view, 6, length)
    for _, tokens in batches(view, plan):
        view.backbone(input_ids=tokens[:, :32], use_cache=False)
    process, done, found = psutil.Process(), threading.Event(), [0]
    base = process.memory_info().rss

    def watch():
        while not done.is_set():
            found[0] = max(found[0], process.memory_info().rss)
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    SIDES[side](view, plan)
    done.set()
    watcher.join()
    return found[0] - base


def peak_in_a_process(name, length, side, threads):
    command = [sys.executable, __file__, name, "--length", str(length), "--peak", side, "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure(name, given):
    ratio = time_ratio(name, given.windows, given.length, given.repeats)
    print(f"{name}, {given.windows} × {given.length}: statistics over eager {ratio:.3f} (median of {given.repeats}, "
          f"aim 1.5)")  # fmt: skip
    kept, own = (peak_in_a_process(name, given.length, side, given.threads) for side in ("kept", "statistics"))
    print(f"{name}, length {given.length}: peak {own / 1e6:.0f} MB over output_attentions' {kept / 1e6:.0f} MB = "
          f"{own / kept:.3f} (aim 0.333)")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=["minilm", "smollm2"])
    parser.add_argument("--windows", type=int, default=16)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peak", choices=list(SIDES))
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    for model in given.models:
        if given.peak:
            print(json.dumps(peak(model, given.length, given.peak)))
        else:
            measure(model, given)

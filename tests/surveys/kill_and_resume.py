"""Kill a survey with SIGKILL at random moments, resume it, compare every bit. Run by the tests in its own process."""

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np
import torch
import transformers

import armillary as arm
from armillary.surveys import plan, shelving, total

plan.SHARD_TOKENS = 128
total.CHECKPOINT_SECONDS, total.PART = 0.0, 0
shelving.ROOM = 10_000  # most finished groups go to disk
torch.set_num_threads(1)


def survey(folder, **options):
    torch.set_num_threads(2)  # two batches at a time; before the fork there must be no threads
    return arm.survey(VIEW, TEXT, out=folder, progress=False, report=False, batch=2, **options)


def in_child(work):
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    return child


def bits(folder):
    run = arm.open(folder)
    return {f"{g}/{n}": v.values for g, node in run.results.children.items() for n, v in node.data_vars.items()}


torch.manual_seed(0)
VIEW = arm.load(
    transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=97, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64
        )
    )
)
TEXT = np.random.default_rng(0).integers(3, 97, (160, 16))


def main():
    base, times = Path(sys.argv[1]), int(sys.argv[2])
    started = time.monotonic()
    os.waitpid(in_child(lambda: survey(base / "whole")), 0)
    duration = time.monotonic() - started
    expected = bits(base / "whole")
    moments, midway = random.Random(0), 0
    for number in range(times):
        folder = base / f"run-{number}"
        child = in_child(lambda folder=folder: survey(folder))
        time.sleep(moments.uniform(0, 0.7) * duration)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        midway += (folder / "checkpoint" / "manifest.json").exists() and not (folder / "states.nc").exists()
        assert os.waitpid(in_child(lambda folder=folder: survey(folder, resume=True)), 0)[1] == 0
        found = bits(folder)
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            assert found[name].tobytes() == value.tobytes() or np.array_equal(found[name], value), (number, name)
        assert [path.name for path in folder.iterdir()] == ["states.nc"], list(folder.rglob("*"))
    assert midway >= times // 10, f"only {midway} kills fell into the pass"
    print(f"{times} killed and resumed, all the same bits ({midway} in the middle of the pass)")


main()

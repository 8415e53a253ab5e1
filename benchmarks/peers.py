"""A survey beside what people would use instead: same model, same tokens, same numbers out; time and peak memory.

    python benchmarks/peers.py [--model minilm] [--contexts 64 512] [--length 128] [--sides two-pass kept ...]
    python benchmarks/peers.py --model smollm2 --contexts 16 --sides lens lens-resid nnsight --python PYTHON

Sides beside `survey` (the pass and its tables, of the layers): `two-pass` (float32, after the public code of the
decomposition: all states kept, means in a first pass, covariances, context basis and residual with a second one);
`kept` (transformers' output_hidden_states of all windows kept in memory, then numpy); `lens` (TransformerLens,
`run_with_cache` of all windows as it is), `lens-resid` (the same in batches, its residual streams alone kept);
`nnsight` (the same states saved in traces, kept). The last three need PYTHON, one of an environment that has these
packages beside ours; they read the last state before the final norm, as a survey does, the first two after it: compare
those on a model without one (minilm). Every side runs in a process of its own, sides alternating, and gives mean,
positional basis and covariance of every layer, which are compared with the survey's. Time is that of the work without
loading the model; memory the peak of the process less what it had after loading and drawing the windows. Medians of
--repeats.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path

import numpy as np

BATCH = 4


def data():
    """Bytes of this process that are not pages of a file."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(("RssAnon", "RssShmem")))


def hidden(view, tokens):
    """Hidden states of some windows, [layer, context, position, d_model]: BERT has no final norm."""
    import torch

    with torch.inference_mode():
        out = view.backbone(input_ids=torch.from_numpy(tokens), output_hidden_states=True, use_cache=False)
    return torch.stack(out.hidden_states).numpy()


def decomposed(states):
    """Mean, positional basis and covariance of every layer from all states, position 0 left out."""
    states = states[:, :, 1:]
    mean = states.mean((1, 2))
    position = states.mean(1) - mean[:, None]
    return mean, position, np.stack([covariance(layer, centre) for layer, centre in zip(states, mean, strict=True)])


def covariance(layer, mean):
    rows = (layer - mean).reshape(-1, len(mean))
    return rows.T @ rows / len(rows)


def kept(view, tokens):
    """All states in memory, then numpy."""
    parts = [hidden(view, tokens[start : start + BATCH]) for start in range(0, len(tokens), BATCH)]
    return decomposed(np.concatenate(parts, 1))


def two_pass(view, tokens):
    """States of all layers in float32, means first, then covariances from a second pass, then context and residual."""
    count, layers = len(tokens), view.n_blocks + 1
    total = np.zeros((layers, tokens.shape[1] - 1, view.d_model), np.float32)
    states = np.empty((layers, count, tokens.shape[1] - 1, view.d_model), np.float32)
    for start in range(0, count, BATCH):
        found = hidden(view, tokens[start : start + BATCH])[:, :, 1:]
        states[:, start : start + BATCH] = found
        total += found.sum(1)
    mean = total.sum(1) / (count * total.shape[1])
    position = total / count - mean[:, None]
    matrix = np.zeros((layers, view.d_model, view.d_model), np.float32)
    for start in range(0, count, BATCH):
        found = hidden(view, tokens[start : start + BATCH])[:, :, 1:]
        for layer in range(layers):
            rows = (found[layer] - mean[layer]).reshape(-1, view.d_model)
            matrix[layer] += rows.T @ rows
    context = states.mean(2) - mean[:, None]
    residual = states - mean[:, None, None] - position[:, None] - context[:, :, None]
    assert np.isfinite(residual.sum())
    return mean, position, matrix / (count * total.shape[1])


@cache
def bridged(view):
    """TransformerLens around the loaded model."""
    from transformer_lens.model_bridge import TransformerBridge

    return TransformerBridge.boot_transformers(view.model.config._name_or_path, hf_model=view.model)


def residual_of(cache, blocks):
    """The states of every layer in a cache."""
    names = ["blocks.0.hook_resid_pre", *(f"blocks.{block}.hook_resid_post" for block in range(blocks))]
    return np.stack([cache[name].numpy() for name in names])


def lens(view, tokens):
    """One `run_with_cache` of all windows."""
    import torch

    with torch.inference_mode():
        _, cache = bridged(view).run_with_cache(torch.from_numpy(tokens))
    return decomposed(residual_of(cache, view.n_blocks))


def lens_resid(view, tokens):
    """`run_with_cache` in batches, residual streams alone."""
    import torch

    model, parts = bridged(view), []
    with torch.inference_mode():
        for start in range(0, len(tokens), BATCH):
            batch = torch.from_numpy(tokens[start : start + BATCH])
            _, cache = model.run_with_cache(batch, names_filter=lambda name: "hook_resid_" in name)
            parts.append(residual_of(cache, view.n_blocks))
    return decomposed(np.concatenate(parts, 1))


def nnsight(view, tokens):
    """The states of every layer saved in traces."""
    import torch
    from nnsight import NNsight

    model, parts = NNsight(view.backbone), []
    for start in range(0, len(tokens), BATCH):
        batch = torch.from_numpy(tokens[start : start + BATCH])
        with torch.inference_mode():
            with model.trace(input_ids=batch, use_cache=False):
                saved = list().save()  # noqa: C408  (a trace marks calls)
                saved.append(model.layers[0].input)
                for layer in model.layers:
                    saved.append(layer.output)
            parts.append(np.stack([states.numpy() for states in saved]))
    return decomposed(np.concatenate(parts, 1))


def survey(view, tokens):
    """The pass and its tables, of the layers as all sides: no measure, no file."""
    from armillary.surveys.engines.local import local
    from armillary.surveys.preparing import prepared
    from armillary.surveys.settings import Settings
    from armillary.surveys.tables import captured_groups

    plan = prepared(
        view, tokens, Settings.of(contexts=len(tokens), length=tokens.shape[1], outliers="keep", sites="residual")
    ).plan
    state, first = local(view, plan, lambda windows: None)
    residual = captured_groups(state, plan, first, attention=False)["residual"]
    return tuple(residual[name].values for name in ("mean", "position_basis", "covariance"))


WORK = {
    **{"survey": survey, "two-pass": two_pass, "kept": kept},
    **{"lens": lens, "lens-resid": lens_resid, "nnsight": nnsight},
}
ELSEWHERE = ("lens", "lens-resid", "nnsight")
"""Sides whose packages lie in an environment of their own."""


def child(side, given):
    """What one process measures; its numbers go to a file."""
    import torch

    import armillary as arm
    from armillary.surveys.preparing import draw
    from armillary.surveys.settings import Settings

    torch.set_num_threads(given.threads)
    view = arm.load(given.model)
    tokens = draw(view, "python-code", Settings.of(contexts=given.contexts[0], length=given.length)).tokens
    hidden(view, tokens[:BATCH])
    if side.startswith("lens"):
        bridged(view)
    base, peak, done = data(), [0], threading.Event()

    def watch():
        while not done.wait(0.005):
            peak.append(max(peak.pop(), data()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    start, used = time.perf_counter(), time.process_time()
    found = WORK[side](view, tokens)
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    done.set()
    watcher.join()
    np.savez(given.numbers, *found)
    print(json.dumps({"seconds": seconds, "cpu": cpu, "bytes": peak[0] - base}))


def measured(side, contexts, given, folder):
    """The figures of one side in a process of its own, and its numbers."""
    numbers = f"{folder}/{side}-{contexts}.npz"
    options = ["--model", given.model, "--contexts", str(contexts), "--length", str(given.length)]
    options += ["--threads", str(given.threads), "--side", side, "--numbers", numbers]
    python = given.python if side in ELSEWHERE else sys.executable
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src")}
    command = [python, "-W", "ignore", __file__, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(done.stderr)
    with np.load(numbers) as held:
        return json.loads(done.stdout.splitlines()[-1]), [held[name] for name in held.files]


def compared(contexts, given, folder):
    """One row per side: ratios to the survey, and how far its numbers are from the survey's."""
    print(f"{given.model}, {contexts} windows of {given.length} tokens, medians of {given.repeats}:", flush=True)
    sides = ["survey", *given.sides]
    rows, numbers = {side: [] for side in sides}, {}
    for repeat in range(given.repeats):
        for side in sides[:: 1 if repeat % 2 == 0 else -1]:
            found, numbers[side] = measured(side, contexts, given, folder)
            rows[side].append(found)
    middle = {side: {key: statistics.median(row[key] for row in rows[side]) for key in rows[side][0]} for side in sides}
    mine, truth = middle["survey"], numbers["survey"]
    for side, found in middle.items():
        off = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(numbers[side], truth, strict=True))
        print(
            f"  {side:10} {found['seconds']:6.1f} s (CPU {found['cpu']:.1f}), {found['bytes'] / 1e6:6.0f} MB: "
            f"{found['seconds'] / mine['seconds']:.2f} × the time ({found['cpu'] / mine['cpu']:.2f} × CPU), "
            f"{found['bytes'] / mine['bytes']:.1f} × the memory, numbers within {off:.0e}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--contexts", type=int, nargs="+", default=[64, 512])
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sides", nargs="+", default=["two-pass", "kept"], choices=list(WORK)[1:])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--python", help="of an environment with TransformerLens and nnsight")
    parser.add_argument("--side", choices=list(WORK))
    parser.add_argument("--numbers")
    asked = parser.parse_args()
    if asked.side:
        child(asked.side, asked)
    elif asked.python is None and (lacking := set(asked.sides) & {*ELSEWHERE}):
        parser.error(f"{', '.join(sorted(lacking))}: expected --python, an environment with that package")
    else:
        with tempfile.TemporaryDirectory() as place:
            for count in asked.contexts:
                compared(count, asked, place)

"""A survey beside what people would use instead: same model, same tokens, same numbers out; time and peak memory.

    python benchmarks/peers.py [--model minilm] [--contexts 64 512] [--length 128] [--sides survey two-pass kept]

Sides: `survey` (the pass and its tables), `two-pass` (float32, after the public code of the decomposition: all
states kept, means in a first pass, covariances, context basis and residual with a second one), `kept` (transformers'
output_hidden_states of all windows kept in memory, then numpy). Every side runs in a process of its own and gives mean,
positional basis and covariance of every layer, which are compared with the survey's. Time is that of the work without
loading the model; memory the peak of the process less what it had after loading and drawing the windows.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
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


def survey(view, tokens):
    """The pass and its tables: no measure, no file."""
    from armillary.surveys.engines.local import local
    from armillary.surveys.preparing import prepared
    from armillary.surveys.settings import Settings
    from armillary.surveys.tables import captured_groups

    plan = prepared(view, tokens, Settings.of(contexts=len(tokens), length=tokens.shape[1], outliers="keep")).plan
    state, first = local(view, plan, lambda windows: None)
    residual = captured_groups(state, plan, first, attention=True)["residual"]
    return tuple(residual[name].values for name in ("mean", "position_basis", "covariance"))


WORK = {"survey": survey, "two-pass": two_pass, "kept": kept}


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
    done = subprocess.run([sys.executable, __file__, *options], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    with np.load(numbers) as held:
        return json.loads(done.stdout.splitlines()[-1]), [held[name] for name in held.files]


def compared(contexts, given, folder):
    """One row per side: ratios to the survey, and how far its numbers are from the survey's."""
    mine, truth = measured("survey", contexts, given, folder)
    print(f"{given.model}, {contexts} windows of {given.length} tokens:", flush=True)
    for side in given.sides:
        found, numbers = (mine, truth) if side == "survey" else measured(side, contexts, given, folder)
        off = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(numbers, truth, strict=True))
        print(
            f"  {side:10} {found['seconds']:6.1f} s (CPU {found['cpu']:.1f}), {found['bytes'] / 1e6:6.0f} MB: "
            f"{found['cpu'] / mine['cpu']:.2f} × the CPU time, {found['bytes'] / mine['bytes']:.1f} × the memory, "
            f"numbers within {off:.0e}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--contexts", type=int, nargs="+", default=[64, 512])
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sides", nargs="+", default=list(WORK), choices=list(WORK))
    parser.add_argument("--side", choices=list(WORK))
    parser.add_argument("--numbers")
    asked = parser.parse_args()
    if asked.side:
        child(asked.side, asked)
    else:
        with tempfile.TemporaryDirectory() as place:
            for count in asked.contexts:
                compared(count, asked, place)

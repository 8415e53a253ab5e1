"""Peak memory of a survey beyond the bare forward pass beside its estimate, and how it grows.

    python benchmarks/memory.py [smollm2 minilm wide ...] [--length 128 512] [--contexts 64] [--max-memory GB]

`wide` is a Llama of two blocks and width 4096 with random weights. Each figure comes from a process of its own: the
peak of its data with the survey less the peak with the forward pass alone, both after loading the model and drawing the
windows. Data is all that is not a page of a file, which the system takes back when it needs the memory.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

WIDE = {"hidden_size": 4096, "intermediate_size": 4096, "num_hidden_layers": 2, "num_attention_heads": 32}


def data():
    """Bytes of this process that are not pages of a file."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(("RssAnon", "RssShmem")))


def model_and_text(name, contexts, length):
    import numpy as np
    import torch
    import transformers

    import armillary as arm

    if name != "wide":
        return arm.load(name), "python-docs"
    torch.manual_seed(0)
    config = transformers.LlamaConfig(vocab_size=1000, max_position_embeddings=length, **WIDE)
    text = np.random.default_rng(0).integers(3, 1000, (contexts, length))
    return arm.load(transformers.LlamaForCausalLM(config), check=False), text


def child(name, contexts, length, side, most):
    """What one process measures: the peak of one side, and the estimate."""
    import torch

    import armillary as arm
    from armillary.surveys.preparing import prepared
    from armillary.surveys.settings import Settings

    torch.set_num_threads(2)
    view, text = model_and_text(name, contexts, length)
    settings = {"contexts": contexts, "length": length, "max_memory": most}
    ready = prepared(view, text, Settings.of(**settings))
    plan = ready.plan
    with torch.inference_mode():
        rows = torch.from_numpy(plan.tokens[: plan.batch])
        for _ in range(2):
            view.backbone(input_ids=rows, use_cache=False)
    base, peaks, done = data(), [0], threading.Event()

    def watch():
        while not done.wait(0.002):
            peaks.append(max(peaks.pop(), data()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    if side == "bare":
        with torch.inference_mode():
            for part in plan.batches(plan.shards[0]):
                view.backbone(input_ids=torch.from_numpy(plan.tokens[part.start : part.stop]), use_cache=False)
    else:
        with tempfile.TemporaryDirectory() as folder:
            arm.survey(view, text, out=f"{folder}/run", progress=False, report=False, **settings)
    done.set()
    watcher.join()
    vectors = 8 * contexts * (2 * view.n_blocks + 1) * view.d_model
    print(json.dumps({"peak": peaks[0] - base, "estimate": ready.memory, "rest": ready.rest, "vectors": vectors}))


def peak(name, contexts, length, side, most):
    options = ["--contexts", str(contexts), "--length", str(length), "--side", side]
    options += [] if most is None else ["--max-memory", str(most)]
    done = subprocess.run([sys.executable, __file__, name, *options], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def compared(name, contexts, length, most):
    """One line: measured and estimated."""
    bare = peak(name, contexts, length, "bare", most)["peak"]
    found = peak(name, contexts, length, "survey", most)
    beyond = found["peak"] - bare
    off = found["estimate"] / beyond - 1
    print(
        f"{name}, {contexts} contexts of {length}: {beyond / 1e6:.0f} MB beyond the forward ({bare / 1e6:.0f} MB), "
        f"estimate {found['estimate'] / 1e6:.0f} MB ({off:+.0%}){', total at rest on disk' if found['rest'] else ''}",
        flush=True,
    )
    return beyond, found["vectors"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=["smollm2", "wide"])
    parser.add_argument("--length", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--contexts", type=int, default=64)
    parser.add_argument("--max-memory", type=float)
    parser.add_argument("--growth", action="store_true", help="also with eight times as many contexts")
    parser.add_argument("--side", choices=("bare", "survey"))
    given = parser.parse_args()
    for name in given.models:
        for length in given.length:
            if given.side:
                child(name, given.contexts, length, given.side, given.max_memory)
                continue
            small, vectors = compared(name, given.contexts, length, given.max_memory)
            if given.growth:
                large, more = compared(name, 8 * given.contexts, length, given.max_memory)
                ratio = (large - small) / (more - vectors)
                print(f"growth: {(large - small) / 1e6:.0f} MB = {ratio:.2f} × the context vectors")


if __name__ == "__main__":
    main()

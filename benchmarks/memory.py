"""Peak memory of a survey beyond the bare forward pass, and how it grows with the number of contexts.

    python benchmarks/memory.py [model]

Each figure comes from a process of its own: the peak resident size with the survey less the peak with the forward pass
alone, both after loading the model and drawing the windows.
"""

import json
import subprocess
import sys

CHILD = """
import json, sys, threading, time
import psutil, torch
import armillary as arm
from armillary.surveys.preparing import draw, ordered, plan_of, shape_of
from armillary.surveys.memory import estimate
from armillary.surveys.settings import Settings
name, contexts, side, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
torch.set_num_threads(2)
view = arm.load(name)
settings = Settings.of(contexts=contexts)
drawn, rule = ordered(draw(view, arm.corpus("python-docs"), settings))
plan = plan_of(drawn, rule.index, settings)
with torch.inference_mode():
    rows = torch.from_numpy(plan.tokens[: plan.batch])
    for _ in range(2):
        view.backbone(input_ids=rows, use_cache=False)
    for weight in view.model.parameters():
        weight.sum()  # all pages of the weights are read: how many a text needs is the model's affair
base, peak, done = psutil.Process().memory_info().rss, 0, False
def watch():
    global peak
    while not done:
        peak = max(peak, psutil.Process().memory_info().rss)
        time.sleep(0.002)
threading.Thread(target=watch, daemon=True).start()
if side == "bare":
    with torch.inference_mode():
        for shard in plan.shards[:1]:
            for part in plan.batches(shard):
                view.backbone(input_ids=torch.from_numpy(plan.tokens[part.start : part.stop]), use_cache=False)
else:
    arm.survey(view, "python-docs", contexts=contexts, out=folder, progress=False, report=False)
done = True
shape = shape_of(view, plan)
vectors = 8 * contexts * (shape.layers + shape.attentions) * shape.d_model
print(json.dumps({"peak": peak - base, "estimate": estimate(plan, shape), "vectors": vectors}))
"""


def peak(name, contexts, side):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", CHILD, name, str(contexts), side, folder + "/run"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(name):
    bare = peak(name, 64, "bare")["peak"]
    beyond = {}
    for contexts in (64, 512):
        found = peak(name, contexts, "survey")
        beyond[contexts] = found["peak"] - bare
        off = found["estimate"] / beyond[contexts] - 1
        print(f"{name}, {contexts} contexts: {beyond[contexts] / 1e6:.0f} MB beyond the bare forward "
              f"({bare / 1e6:.0f} MB), estimate {found['estimate'] / 1e6:.0f} MB ({off:+.0%}), "
              f"context vectors {found['vectors'] / 1e6:.0f} MB", flush=True)  # fmt: skip
        last = found
    growth = beyond[512] - beyond[64]
    allowed = last["vectors"] * (512 - 64) / 512
    print(f"growth from 64 to 512 contexts: {growth / 1e6:.0f} MB = {growth / allowed:.2f} × the context vectors")


if __name__ == "__main__":
    for model in sys.argv[1:] or ["smollm2"]:
        main(model)

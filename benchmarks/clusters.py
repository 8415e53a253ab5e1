"""A survey on a Ray cluster beside the same shards without Ray: bits, losses, and what Ray itself costs.

    python benchmarks/clusters.py [bits] [losses] [overhead] [ways] [--shards 100] [--tokens 4096] [--repeats 2]

`bits`: minilm, 256 windows of 128 tokens, on two nodes with 1, 2 and 3 workers, done in any order. `losses`: a node
killed in the middle, and every third call taking its worker with it. `overhead`: one worker against the same work in
one process, both with one thread. `ways`: actors, tasks and Ray Data's map_batches over a pool of actors.
"""

import argparse
import os
import statistics
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import ray
import torch

import armillary as arm
from armillary.surveys.engines import ray as engine
from armillary.surveys.engines.local import local
from armillary.surveys.preparing import prepared
from armillary.surveys.running import captured, cores
from armillary.surveys.sending import received, same_bits, sent
from armillary.surveys.settings import Settings
from armillary.surveys.shard import first_pilot, shard_state
from armillary.surveys.total import Total

KIT = Path(__file__).parents[1] / "tests" / "kit"
sys.path.insert(0, str(KIT))
os.environ |= {"PYTHONPATH": str(KIT), "RAY_USAGE_STATS_ENABLED": "0"}


@contextmanager
def cluster(nodes=2, cpus=2):
    from ray.cluster_utils import Cluster

    made = Cluster(True, head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": 10**9})
    try:
        made.others = [made.add_node(num_cpus=cpus, object_store_memory=10**9) for _ in range(nodes)]
        ray.init(address=made.address, log_to_driver=False, logging_level="error")
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def say(*words):
    print(*words, flush=True)


def on_cluster(view, plan, workers, kind=None, report=lambda windows: None):
    """The state by a cluster, and the seconds it took, workers' start included."""
    usual, start = engine.Worker, time.perf_counter()
    engine.Worker = kind or usual
    try:
        return sent(engine.ray_engine(workers, view, plan, report)), time.perf_counter() - start
    finally:
        engine.Worker = usual


def bits(view, plan, expected):
    from shaky import Uneven

    with cluster():
        for workers, kind in ((1, None), (2, None), (3, None), (3, Uneven)):
            found, seconds = on_cluster(view, plan, workers, kind)
            order = "in any order" if kind else "as given"
            say(f"{workers} workers, {order}: same bits {same_bits(found, expected)}, {seconds:.1f} s")


def losses(view, plan, expected):
    from shaky import Mortal

    with cluster() as nodes:
        found, seconds = on_cluster(view, plan, 2, Mortal)
        say(f"every third call takes its worker with it: same bits {same_bits(found, expected)}, {seconds:.1f} s")
        seen = []

        def report(windows):
            seen.append(windows)
            if len(seen) == 3:
                nodes.remove_node(nodes.others[0], allow_graceful=False)

        found, seconds = on_cluster(view, plan, 2, report=report)
        say(f"a node killed after two shards: same bits {same_bits(found, expected)}, {seconds:.1f} s")


def in_turn(view, plan, pilot, *, parcels):
    """The same work without Ray: shards one after the other, one batch at a time, states merged in their order."""
    total = Total(plan)
    for shard in plan.shards:
        with closing(captured(view, plan, plan.batches(shard), (1, 1))) as read:
            state, _ = shard_state(read, plan, pilot, lambda windows: None)
        total.add(received(sent(state)) if parcels else state, pilot)
    return total.taken()


def cpu_seconds():
    """Of this process and of all that it started: on a busy machine they say more than the clock."""
    here = psutil.Process()
    times = [process.cpu_times() for process in (here, *here.children(recursive=True))]
    return sum(each.user + each.system for each in times)


@torch.inference_mode()
def overhead(view, shards, tokens, repeats):
    """One worker with one thread against one thread here, alternating; the worker's start is not counted.

    Where shards are smaller than the usual 4096 tokens the share is given for that size too: what Ray adds to a shard
    does not depend on how many tokens went into its sums.
    """
    chosen = Settings.of(contexts=shards * tokens // 128, length=128, shard_tokens=tokens)
    plan = prepared(view, "python-code", chosen).plan
    pilot = first_pilot(view, plan)
    rows = []
    with cluster(nodes=1, cpus=1), closing(engine.Crew(ray, engine.room(ray, view, 1), sent(pilot))) as crew:
        crew.start(engine.Worker, {**view.recipe, **engine.placed(view)}, plan)
        while not crew.idle:
            crew.watch()
        for _ in range(repeats):
            start, used = time.perf_counter(), cpu_seconds()
            expected = in_turn(view, plan, pilot, parcels=False)
            alone, alone_cpu = time.perf_counter() - start, cpu_seconds() - used
            start, used, total = time.perf_counter(), cpu_seconds(), Total(plan)
            for state in crew.states(range(len(plan.shards))):
                total.add(state, pilot)
            with_ray, ray_cpu = time.perf_counter() - start, cpu_seconds() - used
            same = same_bits(sent(total.taken()), sent(expected))
            rows.append((with_ray / alone, (ray_cpu - alone_cpu) / len(plan.shards), alone_cpu / plan.tokens.size))
            times = f"alone {alone:.1f} s (CPU {alone_cpu:.1f}), with Ray {with_ray:.1f} s (CPU {ray_cpu:.1f})"
            say(f"  {times}, same bits {same}")
    ratio, more, each = (statistics.median(column) for column in zip(*rows, strict=True))
    say(
        f"{len(plan.shards)} shards of {tokens} tokens: {ratio:.2f} × the time; {1e3 * more:.0f} ms of CPU more per "
        f"shard, {100 * more / (4096 * each):.1f} % of a shard of 4096 tokens"
    )


def ways(view, plan):
    """Three ways to map shards, two processes each: seconds until all states are here, the start counted and not."""
    pilot, source = sent(first_pilot(view, plan)), {**view.recipe, **engine.placed(view)}
    numbers = range(len(plan.shards))
    with cluster(nodes=1, cpus=2):
        given = (ray.put(source), ray.put(plan))
        for name, way in (("actors", actors), ("tasks", tasks), ("Ray Data", ray_data)):
            start = time.perf_counter()
            moments = [time.perf_counter() for _ in way(given, numbers, pilot)]
            say(f"{name}: {moments[-1] - start:.1f} s in all, {moments[-1] - moments[0]:.1f} s after the first state")


def actors(given, numbers, pilot):
    pool = [ray.remote(engine.Worker).options(num_cpus=1).remote(*given, (1, 1)) for _ in range(2)]
    ray.get([worker.ready.remote() for worker in pool])
    yield from (ray.get(r) for r in [pool[n % 2].shard.remote(n, pilot) for n in numbers])


def tasks(given, numbers, pilot):
    @ray.remote(num_cpus=1, max_retries=-1)
    def shard(source, plan, number):
        import armillary.surveys.engines.ray as here

        if not hasattr(here, "_kept"):
            here._kept = here.Worker(source, plan, (1, 1))
            here._kept.ready()
        return here._kept.shard(number, pilot)

    yield from (ray.get(r) for r in [shard.remote(*given, n) for n in numbers])


def ray_data(given, numbers, pilot):
    import pickle

    from ray.data import ActorPoolStrategy, DataContext

    class Mapper:
        def __init__(self):
            self.worker = engine.Worker(ray.get(given[0]), ray.get(given[1]), (1, 1))
            self.worker.ready()

        def __call__(self, rows):
            return {"state": [pickle.dumps(self.worker.shard(int(n), pilot)[1], 5) for n in rows["item"]]}

    context = DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    data = ray.data.from_items([{"item": n} for n in numbers], override_num_blocks=len(numbers))
    pool = ActorPoolStrategy(size=2)
    mapped = data.map_batches(Mapper, batch_size=1, compute=pool, num_cpus=1)
    for row in mapped.iter_rows():
        yield pickle.loads(row["state"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["bits", "losses", "overhead", "ways"])
    parser.add_argument("--shards", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=4096, help="per shard of `overhead`")
    parser.add_argument("--repeats", type=int, default=2, help="of `overhead`")
    parser.add_argument("--contexts", type=int, default=256)
    asked = parser.parse_args()
    model = arm.load("minilm")
    with cores(2):
        planned = prepared(model, "python-docs", Settings.of(contexts=asked.contexts, length=128)).plan
        truth = sent(local(model, planned, lambda windows: None)) if {"bits", "losses"} & {*asked.parts} else None
        if "bits" in asked.parts:
            bits(model, planned, truth)
        if "losses" in asked.parts:
            losses(model, planned, truth)
    if "overhead" in asked.parts:
        with cores(1):
            overhead(model, asked.shards, asked.tokens, asked.repeats)
    if "ways" in asked.parts:
        with cores(1):
            ways(model, planned)

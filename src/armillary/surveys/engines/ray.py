"""Shards on many machines. Ray places workers, moves states and notices what is lost; sums meet here, in shard order.

A worker is an actor: it holds its device and its model for as long as it lives, and has one shard at a time. A shard
whose worker was lost, or whose state was lost with a node, is given to another one, and a new worker is asked for.
"""

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import torch

from armillary.errors import RequestError, reason
from armillary.models import View, load
from armillary.surveys.checkpoint import Checkpoint
from armillary.surveys.engines.crew import Crew, Room
from armillary.surveys.memory import give_back
from armillary.surveys.pilot import Pilot
from armillary.surveys.plan import Plan
from armillary.surveys.running import captured, shared_out
from armillary.surveys.sending import Sent, received, sent
from armillary.surveys.shard import Report, first_pilot, shard_state
from armillary.surveys.stopping import Enough, never
from armillary.surveys.sums.state import State
from armillary.surveys.total import Total


class Worker:
    """A process somewhere that has the model and makes states of shards."""

    def __init__(self, source: dict[str, Any] | View, plan: Plan, split: tuple[int, int]) -> None:
        # Arrays of the object store cannot be written to, and nothing here writes to them.
        warnings.filterwarnings("ignore", message=".*not writable.*")
        torch.set_num_threads(split[1])
        self.source, self.plan, self.split = source, plan, split

    def ready(self) -> Sent:
        """Load the model; the pilot that it gives here, by which it is known to be the right one."""
        self.view = self.source if isinstance(self.source, View) else load(**self.source, check=False)
        return sent(first_pilot(self.view, self.plan, self.split))

    @torch.inference_mode()
    def shard(self, number: int, pilot: Sent) -> tuple[int, Sent]:
        """The number of windows of a shard, and its state."""
        shard = self.plan.shards[number]
        with closing(captured(self.view, self.plan, self.plan.batches(shard), self.split)) as read:
            state, _ = shard_state(read, self.plan, received(pilot), lambda windows: None)
        give_back()
        return len(shard), sent(state)


def on_ray(workers: int | None) -> Callable[..., tuple[State, Pilot]]:
    """An engine like `local` with this number of workers, or with as many as there is room for."""
    return partial(ray_engine, workers)


@torch.inference_mode()
def ray_engine(
    workers: int | None,
    view: View,
    plan: Plan,
    report: Report,
    checkpoint: Checkpoint | None = None,
    *,
    rest: bool = False,
    enough: Enough = never,
) -> tuple[State, Pilot]:
    """The state of all shards, or of as many as are enough, and the pilot; the same bits as `local` gives."""
    total = Total(plan, checkpoint, rest=rest)
    total.resume(view)
    report(total.stop)
    pilot = total.pilot or first_pilot(view, plan)
    with connected() as ray, closing(Crew(ray, room(ray, view, workers), sent(pilot))) as crew:
        crew.start(Worker, view if view.recipe is None else {**view.recipe, **placed(view)}, plan)
        try:
            states = crew.states(range(total.done, len(plan.shards)))
            while total.done < len(plan.shards) and not enough(total.state, total.done):
                total.add(next(states), pilot)
                report(len(plan.shards[total.done - 1]))
                give_back()
        except KeyboardInterrupt:
            total.save()
            raise
    return total.taken(early=True)


@contextmanager
def connected() -> Iterator[Any]:
    """Ray: the cluster that this process is part of, the one that its surroundings name, or one of this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # What a coming version does by itself; this one says so in a warning.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise RequestError("expected ray for engine=ray, got no such package: pip install 'armillary[ray]'") from error
    if ray.is_initialized():
        yield ray
        return
    stopping = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="error")
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        raise RequestError(
            f"expected a Ray cluster, got none ({reason(error)}): check RAY_ADDRESS or run `ray start --head`"
        ) from error
    try:
        if threading.current_thread() is threading.main_thread():
            # Ray ends the process at once; a survey first saves the shards that are done.
            signal.signal(signal.SIGTERM, stopping)
        yield ray
    finally:
        ray.shutdown()


def placed(view: View) -> dict[str, Any]:
    """Where a worker puts the model: on a device of the same kind, whichever it is given."""
    assert view.recipe is not None
    return {} if view.recipe["device_map"] is not None else {"device": view.device.type}


def room(ray: Any, view: View, workers: int | None) -> Room:
    """What a worker needs of the cluster, and how many there are.

    A product of matrices has the same number of threads in a worker as here: its last bits may depend on them.
    """
    have = ray.cluster_resources()
    most, share = shared_out(view.device, known=view.family is not None)
    cpus, gpus = int(have.get("CPU", 0)), devices(view)
    if gpus:
        size = workers or int(have.get("GPU", 0)) // gpus
        needs = {"num_gpus": gpus, "num_cpus": max(1, min(share, cpus // max(size, 1)))}
    else:
        size = workers or max(1, cpus // (most * share))
        most = max(1, min(most, cpus // size // share))
        needs = {"num_gpus": 0, "num_cpus": most * share}
    if not size or needs["num_gpus"] > have.get("GPU", 0) or needs["num_cpus"] > cpus:
        raise RequestError(
            f"expected a Ray cluster with {needs['num_cpus']} CPUs and {needs['num_gpus']} GPUs for one worker, got "
            f"{cpus} and {int(have.get('GPU', 0))}: add nodes, or set OMP_NUM_THREADS to fewer threads"
        )
    return Room(needs, (most, share), size)


def devices(view: View) -> int:
    """On how many GPUs the model lies."""
    found = {parameter.device for parameter in view.model.parameters()}
    return len({device for device in found if device.type == "cuda"})

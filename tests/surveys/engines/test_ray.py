"""A survey on a Ray cluster gives the bits of a local one, whoever runs its shards and whatever is lost on the way."""

import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

import armillary as arm
import shaky
from armillary.errors import RequestError
from armillary.surveys.engines import ray as engine
from armillary.surveys.engines.local import local
from armillary.surveys.preparing import prepared
from armillary.surveys.running import cores
from armillary.surveys.sending import same_bits, sent
from armillary.surveys.settings import Settings
from shaky import Mortal, Uneven

ray = pytest.importorskip("ray", reason="ray is an extra")


@contextmanager
def cluster(nodes=2, cpus=2):
    """Nodes of one machine, this process beside them; what Ray leaves open when it ends is no fault of ours."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = str(Path(shaky.__file__).parent)  # nodes hand it on to the workers
    # The first node is the driver's own and has no room for workers.
    made = Cluster(True, head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": 10**9})
    try:
        made.others = [made.add_node(num_cpus=cpus, object_store_memory=10**9) for _ in range(nodes)]
        ray.init(address=made.address, log_to_driver=False, logging_level="error")
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def on_cluster(view, plan, workers, report=lambda windows: None):
    return sent(engine.ray_engine(workers, view, plan, report))


def soon(seen, seconds=60):
    """Whether something is seen in time: a cluster notices the loss of a node by the heartbeats that it misses."""
    end = time.monotonic() + seconds
    while not seen() and time.monotonic() < end:
        time.sleep(0.5)
    return seen()


@pytest.fixture
def two_threads():
    with cores(2):
        yield


def plan_of(view, text, **settings):
    return prepared(view, text, Settings.of(**settings)).plan


@pytest.mark.filterwarnings("ignore")
def test_shards_that_are_done_in_any_order_give_the_bits_of_a_local_survey(tiny_llama, monkeypatch, two_threads):
    text = np.random.default_rng(0).integers(3, 97, (60, 16))
    plan = plan_of(tiny_llama, text, shard_tokens=64)
    monkeypatch.setattr(engine, "Worker", Uneven)
    with cluster(nodes=1):
        found = on_cluster(tiny_llama, plan, 2)
    assert len(plan.shards) > 6
    assert same_bits(found, sent(local(tiny_llama, plan, lambda windows: None)))


@pytest.mark.nightly
@pytest.mark.real
@pytest.mark.filterwarnings("ignore")
def test_minilm_on_two_nodes_gives_the_bits_of_a_local_survey(monkeypatch, two_threads):
    view = arm.load("minilm")
    plan = plan_of(view, "python-docs", contexts=256, length=128)
    expected = sent(local(view, plan, lambda windows: None))
    with cluster() as nodes:
        for workers in (1, 2, 3):
            assert same_bits(on_cluster(view, plan, workers), expected), workers
        monkeypatch.setattr(engine, "Worker", Uneven)
        assert same_bits(on_cluster(view, plan, 3), expected)
        monkeypatch.setattr(engine, "Worker", Mortal)
        assert same_bits(on_cluster(view, plan, 3), expected)
        monkeypatch.undo()
        seen = []

        def report(windows):
            seen.append(windows)
            if len(seen) == 3:
                nodes.remove_node(nodes.others[0], allow_graceful=False)

        assert same_bits(on_cluster(view, plan, 2, report), expected)
        assert len(ray.nodes()) == 3
        assert soon(lambda: sum(node["Alive"] for node in ray.nodes()) == 2)


def test_without_the_package_one_line_says_what_to_install(tiny_llama, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    text = np.random.default_rng(0).integers(3, 97, (8, 16))
    with pytest.raises(RequestError, match=r"^expected ray for engine=ray, got no such package: pip install 'armill"):
        arm.survey(tiny_llama, text, engine="ray", progress=False)


@pytest.mark.parametrize(
    ("have", "workers", "threads", "needs", "split", "size"),
    [
        ({"CPU": 2}, None, 2, 2, (2, 1), 1),
        ({"CPU": 2}, 2, 2, 1, (1, 1), 2),
        ({"CPU": 64}, None, 4, 4, (2, 2), 16),
        ({"CPU": 64}, 20, 4, 2, (1, 2), 20),
        ({"CPU": 4}, 3, 2, 1, (1, 1), 3),
    ],
)
def test_a_worker_has_the_threads_of_a_local_product(tiny_llama, have, workers, threads, needs, split, size):
    asked = type("Ray", (), {"cluster_resources": staticmethod(lambda: have)})
    with cores(threads):
        room = engine.room(asked, tiny_llama, workers)
    assert room.needs == {"num_gpus": 0, "num_cpus": needs}
    assert (room.split, room.size) == (split, size)


def test_a_cluster_without_room_for_one_worker_is_refused(tiny_llama):
    asked = type("Ray", (), {"cluster_resources": staticmethod(lambda: {"CPU": 1})})
    with (
        cores(8),
        pytest.raises(RequestError, match=r"^expected a Ray cluster with 4 CPUs and 0 GPUs for"),
    ):
        engine.room(asked, tiny_llama, 1)


def test_a_worker_is_told_how_the_model_was_loaded(tmp_path, tiny_llama, monkeypatch):
    tiny_llama.model.save_pretrained(tmp_path / "tiny")
    monkeypatch.chdir(tmp_path)
    view = arm.load("tiny", dtype="bfloat16")
    assert view.recipe["source"] == str(tmp_path / "tiny")
    assert engine.placed(view) == {"device": "cpu"}
    monkeypatch.chdir("/")
    again = arm.load(**view.recipe, **engine.placed(view))
    assert again.dtype == torch.bfloat16
    assert again.provenance["model_sha256"] == view.provenance["model_sha256"]
    assert tiny_llama.recipe is None

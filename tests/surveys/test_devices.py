"""Sums where the states are: nothing in a shard mixes devices or makes the host wait; the host's numbers come out.

There is no GPU here. Tensors of torch's fake mode on a pretend device have no numbers: an operation on two devices
raises, and so does every look at a number.
"""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from armillary.attention.mixing import mixing
from armillary.attention.pattern_sums import pattern_sums
from armillary.attention.reading import HeadReading, map_ranks
from armillary.models.attention import AttentionCall
from armillary.models.view import View
from armillary.surveys import devices, shard
from armillary.surveys.pilot import Pilot
from armillary.surveys.plan import Plan
from armillary.surveys.running import Captured, summable
from armillary.surveys.sums import batch as batch_sums
from armillary.surveys.sums import moments
from armillary.surveys.sums.frame import Frame
from armillary.surveys.sums.heads import Heads

_setup_privateuseone_for_python_backend("pretend")
GPU = torch.device("pretend:0")
CONTEXTS, LENGTH, WIDTH, LAYERS = 6, 12, 8, 3


def plan_for(**changes):
    tokens = np.random.default_rng(0).integers(3, 60, (CONTEXTS, LENGTH))
    options = {"seed": 0, "first": "drop", "outliers": "drop", "scatter": "attention", "sites": "all", "batch": 2}
    return Plan(tokens, np.arange(CONTEXTS) // 3, **options | changes)


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
    if is_dataclass(value):
        parts = [getattr(value, field.name) for field in fields(value)]
    return [tensor for part in parts for tensor in tensors_of(part)]


@pytest.fixture
def fake():
    with FakeTensorMode() as mode:
        yield mode


def call_there(mask=None, rows=2):
    heads = [torch.randn(rows, 4, LENGTH, 2, device=GPU, dtype=torch.bfloat16) for _ in range(3)]
    return AttentionCall(0, torch.randn(rows, LENGTH, WIDTH, device=GPU), *heads, scaling=0.5, causal=True, mask=mask)


def head_sums(rows):
    read = HeadReading(skipped=1, drop=True)
    read.ranked = (0,)
    for _ in range(LAYERS - 1):
        read.attention(call_there(rows=rows))
        read.mixed.append(mixing(*(torch.randn(rows, LENGTH, WIDTH, device=GPU) for _ in range(2)), drop=True))
    return Heads.of(read.take(LAYERS - 1), (0,) * rows)


@pytest.mark.parametrize("first", ["drop", "keep"])
def test_a_shard_is_summed_where_its_states_are_and_no_number_is_asked_for(fake, first):
    plan = plan_for(first=first)
    frame = Frame(torch.zeros(LAYERS, WIDTH, dtype=torch.float64), torch.zeros(LAYERS, WIDTH, 4))
    sums = shard.Sums(plan, Pilot(torch.ones(LAYERS, dtype=torch.float64), frame), GPU, None)
    for rows in plan.batches(range(CONTEXTS)):
        states = [
            torch.randn(len(rows), LENGTH, WIDTH, device=GPU, dtype=torch.bfloat16) for _ in range(2 * LAYERS - 1)
        ]
        wide = tuple(summable(site, GPU) for site in states)
        sums.add(Captured(rows, wide[:LAYERS], wide[LAYERS:], head_sums(len(rows))))
    found = tensors_of(sums.total) + tensors_of(tuple(sums.unread))
    assert len(found) > 30
    assert {tensor.device for tensor in found} == {GPU}
    assert all(tensor.dtype in (torch.float64, torch.float32, torch.int64) for tensor in found)


def test_a_look_at_a_number_would_have_been_noticed(fake):
    plan = plan_for()
    states = torch.randn(2, LENGTH, WIDTH, device=GPU)
    with pytest.raises(DataDependentOutputException):
        shard.check_finite(shard.all_norms((states,)), range(2), plan)
    with pytest.raises(RuntimeError):
        states + torch.randn(2, LENGTH, WIDTH)


@pytest.mark.parametrize("kind", ["none", "bool", "additive"])
def test_attention_statistics_are_made_where_the_maps_are(fake, kind):
    masks = {
        "none": None,
        "bool": torch.ones(2, 1, LENGTH, LENGTH, dtype=torch.bool, device=GPU),
        "additive": torch.zeros(2, 1, LENGTH, LENGTH, device=GPU),
    }
    call = call_there(masks[kind])
    found = [*tensors_of(pattern_sums(call)), map_ranks(call, (0, 1))]
    assert {(tensor.device, tensor.dtype) for tensor in found} == {(GPU, torch.float64)}


@pytest.mark.parametrize("outliers", ["drop", "keep"])
def test_the_sums_of_another_device_are_those_of_the_host(monkeypatch, outliers):
    """The other device's way with numbers: taken on the host, whose own way looks at every batch."""
    plan = plan_for(outliers=outliers)
    rng = np.random.default_rng(1)
    states = [torch.from_numpy(rng.normal(size=(CONTEXTS, LENGTH, WIDTH))).float() + 3 for _ in range(2 * LAYERS - 1)]
    states[1][4, 5] *= 100

    def batches():
        for rows in plan.batches(range(CONTEXTS)):
            part = [site[rows.start : rows.stop].clone() for site in states]
            yield Captured(rows, tuple(part[:LAYERS]), tuple(part[LAYERS:]))

    host, first = shard.shard_state(batches(), plan, None, lambda windows: None)
    elsewhere = torch.device("meta")  # any other name than the host's
    for module in (shard, devices, batch_sums, moments):
        monkeypatch.setattr(module, "HOST", elsewhere)
    monkeypatch.setattr(devices, "moved", lambda value, to: value)
    sums = shard.Sums(plan, first, torch.device("cpu"), None)
    for batch in batches():
        sums.add(batch)
    for batch in sums.unread:
        shard.check_finite(batch.norms, batch.contexts, plan)
    there = devices.named_tokens(sums.total, sums.unread, plan, first).packed()
    assert there.outliers.tokens == host.outliers.tokens
    assert there.sample.tokens == host.sample.tokens
    ours, theirs = tensors_of(there), tensors_of(host)
    numbers = [[tensor for tensor in side if tensor.ndim] for side in (ours, theirs)]
    for mine, other in zip(*numbers, strict=True):
        assert torch.allclose(mine.double(), other.double(), rtol=1e-5, atol=1e-5)


def test_devices_without_float64_or_room_and_models_on_several_leave_the_sums_to_the_host(monkeypatch):
    plan = plan_for()

    class Weight:
        def __init__(self, place):
            self.device = torch.device(place)

    def view(*places):
        model = type("Model", (), {"parameters": lambda self: [Weight(place) for place in places]})()
        kind = type("There", (View,), {"device": torch.device(places[0]), "n_blocks": 2, "d_model": WIDTH})
        return kind("there", model, None, None, {})

    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10**6, 10**9))
    assert devices.summing_device(view("cuda:0"), plan) == torch.device("cuda:0")
    assert devices.summing_device(view("cpu"), plan).type == "cpu"
    assert devices.summing_device(view("mps"), plan).type == "cpu"
    assert devices.summing_device(view("cuda:0", "cuda:1"), plan).type == "cpu"
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1000, 10**9))
    assert devices.summing_device(view("cuda:0"), plan).type == "cpu"

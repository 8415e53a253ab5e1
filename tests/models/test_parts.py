"""Parts of an attention's input add up to the model's own logits, in every family, whatever the parts are."""

import numpy as np
import pytest
import torch
from einops import einsum

import armillary as arm
from armillary.models.attention import attention_calls, products
from armillary.models.parts import query_key_parts, rotation_at

NORMED = {"qwen3", "gemma3_text", "gemma3", "phi-normed", "olmo2"}


@pytest.fixture
def view(tiny, name):
    return arm.load(tiny(name), check=False)


@pytest.fixture
def windows():
    return np.random.default_rng(0).integers(3, 60, (12, 11))


def calls_of(view, ids):
    calls = []
    with torch.no_grad(), attention_calls(view, calls.append):
        view.backbone(input_ids=torch.from_numpy(ids)[None])
    return calls


def test_any_parts_add_up_to_the_logits_of_their_sum(view, name, windows):
    generator = torch.Generator().manual_seed(0)
    for call in calls_of(view, windows[0]):
        parts = torch.randn(2, *call.input[0].shape, generator=generator, dtype=torch.float64)
        parts = torch.cat([parts, (call.input[0].double() - parts.sum(0))[None]])
        query, key = query_key_parts(view, call.block, parts, call.rotation)
        maps = einsum(query, key, "a head query d, b head key d -> a b head query key")
        own = products(call)[0].double()
        largest = own.abs().amax((1, 2), keepdim=True)
        assert ((maps.sum((0, 1)) - own).abs() / largest).max() < 1e-5
        assert view.heads(call.block).bilinear == (name not in NORMED)


def test_biases_go_with_the_first_part_and_a_part_of_nothing_brings_nothing(view, windows):
    call = calls_of(view, windows[0])[1]
    x = call.input[0].double()
    query, key = query_key_parts(view, 1, torch.stack([x, torch.zeros_like(x)]), call.rotation)
    assert not query[1].any()
    assert not key[1].any()
    assert query[0].any()


def test_the_rotation_at_given_positions_is_the_models_own(view, windows):
    for call in calls_of(view, windows[0]):
        ours = rotation_at(view, call.block, range(windows.shape[1]))
        if call.rotation is None:
            assert ours is None
            continue
        for mine, theirs in zip(ours, call.rotation, strict=True):
            assert torch.equal(mine.expand_as(theirs), theirs)

"""One prompt and its constituents in every family: maps, states and sums are the model's own."""

import numpy as np
import pytest
import torch
import xarray as xr

import armillary as arm
from armillary.models.attention import attention_calls, products
from armillary.results import store

NORMED = {"qwen3", "gemma3_text", "gemma3", "phi-normed", "olmo2"}
IDS = np.random.default_rng(0).integers(3, 60, 11)


@pytest.fixture
def view(tiny, name):
    return arm.load(tiny(name), check=False)


def made_up_run(view, length, first="drop"):
    """A run whose mean and position vectors are drawn: the parts must add up whatever they are."""
    draw = np.random.default_rng(1)
    start = 1 if first == "drop" else 0
    shape = (view.n_blocks, view.d_model)
    attention = xr.Dataset(
        {
            "mean": (("block", "d_model"), draw.standard_normal(shape)),
            "position_basis": (
                ("block", "position", "d_model"),
                draw.standard_normal((shape[0], length - start, shape[1])),
            ),
        },
        coords={"position": np.arange(start, length)},
    )
    if start:
        attention["first"] = (("block", "d_model"), 9 * draw.standard_normal(shape))
    return store.Run(store.tree_of({"attention": attention}, view.provenance))


@pytest.mark.parametrize("first", ["drop", "keep"])
def test_constituents_add_up_to_the_logits_of_every_head(view, name, first):
    run, calls = made_up_run(view, 14, first), []
    with torch.no_grad(), attention_calls(view, calls.append):
        view.backbone(input_ids=torch.from_numpy(IDS)[None])
    for call in calls:
        found = arm.constituents(view, run, IDS, block=call.block)
        own = products(call)[0].double().numpy()
        error = np.abs(found.sum(("part_query", "part_key")).values - own).max((1, 2)) / np.abs(own).max((1, 2))
        assert (error < 1e-5).all()
        assert ("bias" in found.coords) == (view.position == "alibi")
        assert ("held" in found.form) == (name in NORMED)


def test_the_maps_of_a_prompt_are_eager_attention_and_its_states_the_hidden_ones(view):
    found = arm.prompt(view, IDS)
    view.model.set_attn_implementation("eager")
    with torch.no_grad():
        own = view.backbone(input_ids=torch.from_numpy(IDS)[None], output_attentions=True, output_hidden_states=True)
    pattern = torch.cat(own.attentions).numpy()
    assert np.abs(found.pattern.values - pattern).max() < 1e-5
    assert np.array_equal(found.allowed.values, (pattern > 0).any(1))
    for layer, states in enumerate(own.hidden_states[:-1]):
        assert np.abs(found.states.values[layer] - states[0].numpy()).max() < 1e-4 * float(states.abs().max())


def test_what_heads_add_is_the_attentions_output_less_its_bias(view):
    """With one head left, the norm of the whole output is that of the head."""
    if view.blocks.count(view.blocks[0]) > 1:
        pytest.skip("blocks that share weights cannot lose a head in one of them")
    found = arm.prompt(view, IDS).output_norm.values[0, 2]
    outputs = []
    hook = view.outputs[0].register_forward_hook(lambda module, args, output: outputs.append(output))
    with arm.without_head(view, 0, 0), arm.without_head(view, 0, 1), arm.without_head(view, 0, 3), torch.no_grad():
        view.backbone(input_ids=torch.from_numpy(IDS)[None])
    hook.remove()
    alone = (outputs[0][0] - view.heads(0).b_O).norm(dim=-1).numpy()
    assert np.allclose(found, alone, rtol=1e-4, atol=1e-5)

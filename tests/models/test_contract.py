"""A reading that is wrong is refused; a family that is unknown still shows its residual stream."""

from dataclasses import replace

import pytest
import torch
import transformers
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from armillary.errors import BrokenContract, RequestError
from armillary.models import FAMILIES, attention_calls, load
from armillary.models.contract import check_contract

BROKEN = {
    "query and key swapped": ("qwen2", {"query": "self_attn.k_proj", "key": "self_attn.q_proj"}),
    "query read as value": ("phi", {"value": "self_attn.q_proj"}),
    "fused matrix cut the wrong way": ("gpt2", {"fused": "interleaved"}),
    "interleaved matrix read as stacked": ("bloom", {"fused": "stacked"}),
    "stacked heads of a rotary family": ("gpt_neox", {"fused": "stacked"}),
    "q/k norm forgotten": ("qwen3", {"query_norm": None, "key_norm": None}),
    "soft cap forgotten": ("gemma2", {"softcap": None}),
    "gain without its one": ("gemma2", {"gain_plus_one": False}),
    "rotation forgotten": ("mistral", {"rotary": None}),
    "final norm forgotten": ("gpt2", {"final_norm": None}),
    "norm of the MLP taken for the final one": ("gpt2", {"final_norm": "h.0.ln_2"}),
    "output projection of the MLP": ("opt", {"output": "fc2"}),
}


@pytest.mark.parametrize("mistake", BROKEN)
def test_a_wrong_row_is_refused(tiny, monkeypatch, mistake):
    family, changes = BROKEN[mistake]
    monkeypatch.setitem(FAMILIES, family, replace(FAMILIES[family], **changes))
    with pytest.raises(BrokenContract):
        load(tiny(family))


def test_the_refusal_names_site_shape_and_error(tiny, monkeypatch):
    swapped = replace(FAMILIES["opt"], query="self_attn.k_proj", key="self_attn.q_proj")
    monkeypatch.setitem(FAMILIES, "opt", swapped)
    with pytest.raises(BrokenContract, match=r"rebuild block 0, attention query, came a relative error of .* shape \("):
        load(tiny("opt"))


@pytest.mark.parametrize(
    ("attribute", "value"), [("num_key_value_heads", 4), ("num_attention_heads", 2), ("head_dim", 8)]
)
def test_a_config_that_belies_the_weights_is_refused(tiny, attribute, value):
    model = tiny("qwen3")
    setattr(model.config, attribute, value)
    with pytest.raises(BrokenContract, match="W_Q, W_K, W_V, W_O of shapes"):
        load(model)


def test_a_bias_that_the_reading_drops_is_noticed(tiny, monkeypatch):
    from armillary.models import weights

    own = weights._matrix
    monkeypatch.setattr(weights, "_matrix", lambda module: (own(module)[0], own(module)[1] * 0))
    with pytest.raises(BrokenContract, match="attention query"):
        load(tiny("bert"))


def test_check_false_lets_a_wrong_row_pass(tiny, monkeypatch):
    monkeypatch.setitem(FAMILIES, "gpt2", replace(FAMILIES["gpt2"], fused="interleaved"))
    view = load(tiny("gpt2"), check=False)
    with pytest.raises(BrokenContract):
        check_contract(view)


@pytest.mark.parametrize(
    ("family", "attribute", "value"),
    [
        ("bert", "position_embedding_type", "relative_key"),
        ("bloom", "apply_residual_connection_post_layernorm", True),
        ("gemma2", "use_bidirectional_attention", True),
        ("llama", "attention_temperature", 2.0),
    ],
)
def test_a_config_attribute_that_may_change_the_maths_is_refused(tiny, family, attribute, value):
    with pytest.raises(BrokenContract, match=f"{attribute}.*check=False"):
        load(tiny(family, **{attribute: value}))


def test_bookkeeping_in_a_config_is_let_through(tiny):
    load(tiny("bert", position_embedding_type="absolute", gradient_checkpointing=False, made_by="hand"))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_the_contract_holds_in_other_precisions(tiny, name, dtype):
    check_contract(load(tiny(name).to(dtype)), every_block=True)


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_the_contract_holds_under_both_implementations(tiny, implementation):
    model = tiny("llama")
    model.set_attn_implementation(implementation)
    view = load(model)
    assert view.provenance["attn_implementation"] == implementation
    assert model.config._attn_implementation == implementation


def test_a_model_survives_an_error_while_attention_is_read(tiny):
    view = load(tiny("llama"))
    before = view.config._attn_implementation
    with pytest.raises(ZeroDivisionError), attention_calls(view, lambda call: 1 / 0):
        view.backbone(input_ids=torch.tensor([[3, 4, 5]]))
    assert view.config._attn_implementation == before
    check_contract(view)


def test_two_readings_at_once_are_refused(tiny):
    view = load(tiny("llama"))
    with (
        attention_calls(view, print),
        pytest.raises(RequestError, match="one reading of attention at a time"),
        attention_calls(view, print),
    ):
        pass


def test_names_of_our_own_hand_on_to_the_implementation(tiny):
    load(tiny("llama"))
    assert "armillary_sdpa" in ALL_ATTENTION_FUNCTIONS.valid_keys()


def unknown_model():
    sizes = {"vocab_size": 67, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3}
    config = transformers.StableLmConfig(**sizes, num_attention_heads=4, num_key_value_heads=4)
    return transformers.StableLmForCausalLM(config).eval()


def test_an_unknown_family_shows_its_residual_stream():
    view = load(unknown_model())
    assert view.family is None
    assert view.blocks == tuple(view.model.model.layers)
    assert view.attentions is None
    assert view.final_norm is None
    assert "unknown family" in repr(view)


def test_an_unknown_family_says_what_is_missing_for_heads():
    view = load(unknown_model())
    for asked in (lambda: view.heads(0), lambda: view.norm(0), lambda: view.rotation(0, torch.tensor([[0]]))):
        with pytest.raises(RequestError, match=r"known family for .* came 'stablelm'; only the residual stream"):
            asked()
    with pytest.raises(RequestError, match="known family to read attention"), attention_calls(view, print):
        pass


def test_a_block_that_does_not_exist_is_refused(tiny):
    with pytest.raises(RequestError, match="block from 0 to 2, came 3"):
        load(tiny("gpt2")).heads(3)


def test_quantised_or_adapted_projections_are_refused(tiny):
    model = tiny("llama")
    layer = model.model.layers[0].self_attn
    layer.q_proj = torch.nn.Sequential(layer.q_proj)
    with pytest.raises(RequestError, match="plain Linear or Conv1D"):
        load(model, check=False).heads(0)

"""A reading that is wrong is refused; a family that is unknown still shows its residual stream."""

from dataclasses import replace

import pytest
import torch
import transformers
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from armillary.errors import BrokenContract, NonFiniteError, RequestError
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
    with pytest.raises(BrokenContract, match=r"rebuild block 0, attention query, got a relative error of .* shape \("):
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


PUBLISHED = {
    "albert": {"net_structure_type": 0, "num_memory_blocks": 0, "down_scale_factor": 1, "gap_size": 0},
    "bert": {"gradient_checkpointing": False, "position_embedding_type": "absolute"},
    "bloom": {
        "attention_softmax_in_fp32": True,
        "masked_softmax_fusion": True,
        "offset_alibi": 100,
        "seq_length": 2048,
    },
    "distilbert": {"tie_weights_": True},
    "gemma2": {"hidden_act": "gelu_pytorch_tanh", "cache_implementation": "hybrid", "sliding_window_size": 4},
    "gemma3_text": {"sliding_window_pattern": 6, "rope_local_base_freq": 10000, "rope_theta": 1000000},
    "gpt2": {"n_ctx": 1024, "task_specific_params": {"text-generation": {"do_sample": True}}},
    "gpt_neox": {"rotary_emb_base": 10000, "rotary_pct": 0.25, "attention_probs_dropout_prob": 0},
    "llama": {"rope_theta": 500000.0, "is_llama_config": True, "rope_interleaved": False, "max_sequence_length": 2048},
    "opt": {"activation_dropout": 0.0, "prefix": "</s>"},
    "phi": {"partial_rotary_factor": 0.5, "rope_theta": 10000.0},
    "qwen2": {"rope_theta": 1e6, "use_mrope": False, "max_window_layers": 21},
    "smollm3": {"pretraining_tp": 2, "rope_theta": 5e6, "max_window_layers": 28},
}


@pytest.mark.parametrize("family", PUBLISHED)
def test_what_stands_in_published_configs_is_let_through(tiny, family):
    load(tiny(family, **PUBLISHED[family]))


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


def test_models_without_heads_or_with_other_inputs_are_told_apart():
    state_space = transformers.MambaModel(transformers.MambaConfig(vocab_size=67, hidden_size=32, num_hidden_layers=2))
    view = load(state_space.eval(), check=False)
    assert "2 blocks, d_model 32, unknown family" in repr(view)
    with pytest.raises(RequestError, match="attention heads, got 'mamba': survey its hidden states only"):
        _ = view.n_heads
    permuted = transformers.XLNetConfig(vocab_size=67, d_model=32, n_layer=2, n_head=4, d_inner=48)
    with pytest.raises(BrokenContract):
        load(transformers.XLNetModel(permuted).eval())


def test_an_unknown_family_says_what_is_missing_for_heads():
    view = load(unknown_model())
    for asked in (lambda: view.heads(0), lambda: view.norm(0), lambda: view.rotation(0, torch.tensor([[0]]))):
        with pytest.raises(
            RequestError, match=r"known family for .* got 'stablelm', of which only hidden states can be read"
        ):
            asked()
    with pytest.raises(RequestError, match="known family for attention"), attention_calls(view, print):
        pass


def test_a_block_that_does_not_exist_is_refused(tiny):
    with pytest.raises(RequestError, match="block from 0 to 2, got 3"):
        load(tiny("gpt2")).heads(3)


def test_quantised_or_adapted_projections_are_refused(tiny):
    model = tiny("llama")
    layer = model.model.layers[0].self_attn
    layer.q_proj = torch.nn.Sequential(layer.q_proj)
    with pytest.raises(RequestError, match="plain Linear or Conv1D"):
        load(model, check=False).heads(0)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_named_instead_of_the_reading(tiny, value):
    model = tiny("llama")
    model.model.layers[1].self_attn.v_proj.weight[0, 0] = value
    expected = (
        "expected finite weights in .*, got NaN or infinity in model.layers.1.self_attn.v_proj.weight: the checkpoint"
    )
    with pytest.raises(NonFiniteError, match=expected):
        load(model)

"""One frozen row of module paths per family of models: a new family is one row here and one line of its test."""

import re
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from armillary.errors import BrokenContract

NormSite = Literal["before_attention", "after_attention", "before_mlp", "after_mlp"]
MLPPart = Literal["in", "gate", "out"]
NormPlace = Literal["pre", "post", "sandwich", "branch"]
PositionKind = Literal["learned", "rope", "alibi", "none"]


@dataclass(frozen=True)
class Family:
    """Where a family keeps its parts: blocks, embeddings and final norm from the backbone, all others from a block.

    `fused` says how one matrix holds q, k and v: stacked (all q, all k, all v) or interleaved (q, k, v head by head).
    `place` says where norms stand: pre (x + f(norm x)), post (norm(x + f x)), branch (x + norm(f x)), sandwich (pre
    and branch). `embedding_norm` is a norm whose output block 0 receives as it is, `widening` what takes embeddings to
    d_model where they are narrower. `rules` lists, per config attribute that changes the maths, the values that this
    reading understands.
    """

    blocks: str
    attention: str
    query: str
    key: str
    value: str
    output: str
    norms: dict[NormSite, str]
    mlp: dict[MLPPart, str]
    final_norm: str | None
    place: NormPlace
    position: PositionKind
    position_embeddings: str | None = None
    embedding_norm: str | None = None
    widening: str | None = None
    rotary: str | None = None
    fused: Literal["stacked", "interleaved"] | None = None
    scale: str = "scaling"
    softcap: str | None = None
    query_norm: str | None = None
    key_norm: str | None = None
    gain_plus_one: bool = False
    text_model: str | None = None
    attention_interface: bool = True
    post_when: tuple[str, Any] | None = None
    rules: dict[str, tuple[Any, ...]] = field(default_factory=dict)


_NO_CROSS = {"add_cross_attention": (False,), "position_embedding_type": ("absolute",)}

_ENCODER = Family(
    blocks="encoder.layer",
    attention="attention.self",
    query="attention.self.query",
    key="attention.self.key",
    value="attention.self.value",
    output="attention.output.dense",
    norms={"after_attention": "attention.output.LayerNorm", "after_mlp": "output.LayerNorm"},
    mlp={"in": "intermediate.dense", "out": "output.dense"},
    final_norm=None,
    place="post",
    position="learned",
    position_embeddings="embeddings.position_embeddings",
    embedding_norm="embeddings.LayerNorm",
    rules=_NO_CROSS,
)

_ROTARY = Family(
    blocks="layers",
    attention="self_attn",
    query="self_attn.q_proj",
    key="self_attn.k_proj",
    value="self_attn.v_proj",
    output="self_attn.o_proj",
    norms={"before_attention": "input_layernorm", "before_mlp": "post_attention_layernorm"},
    mlp={"in": "mlp.up_proj", "gate": "mlp.gate_proj", "out": "mlp.down_proj"},
    final_norm="norm",
    place="pre",
    position="rope",
    rotary="rotary_emb",
)

_QUERY_KEY_NORM = replace(_ROTARY, query_norm="self_attn.q_norm", key_norm="self_attn.k_norm")

_SANDWICH = replace(
    _ROTARY,
    norms={
        "before_attention": "input_layernorm",
        "after_attention": "post_attention_layernorm",
        "before_mlp": "pre_feedforward_layernorm",
        "after_mlp": "post_feedforward_layernorm",
    },
    place="sandwich",
    gain_plus_one=True,
    rules={"use_bidirectional_attention": (None, False)},
)

_SANDWICH_NORMED = replace(_SANDWICH, query_norm="self_attn.q_norm", key_norm="self_attn.k_norm")

FAMILIES: dict[str, Family] = {
    "gpt2": Family(
        blocks="h",
        attention="attn",
        query="attn.c_attn",
        key="attn.c_attn",
        value="attn.c_attn",
        fused="stacked",
        output="attn.c_proj",
        norms={"before_attention": "ln_1", "before_mlp": "ln_2"},
        mlp={"in": "mlp.c_fc", "out": "mlp.c_proj"},
        final_norm="ln_f",
        place="pre",
        position="learned",
        position_embeddings="wpe",
        rules=_NO_CROSS,
    ),
    "bert": _ENCODER,
    "roberta": _ENCODER,
    "xlm-roberta": _ENCODER,
    "distilbert": replace(
        _ENCODER,
        blocks="transformer.layer",
        attention="attention",
        query="attention.q_lin",
        key="attention.k_lin",
        value="attention.v_lin",
        output="attention.out_lin",
        norms={"after_attention": "sa_layer_norm", "after_mlp": "output_layer_norm"},
        mlp={"in": "ffn.lin1", "out": "ffn.lin2"},
    ),
    "albert": replace(
        _ENCODER,
        blocks="encoder.albert_layer_groups",
        attention="albert_layers.0.attention",
        query="albert_layers.0.attention.query",
        key="albert_layers.0.attention.key",
        value="albert_layers.0.attention.value",
        output="albert_layers.0.attention.dense",
        norms={
            "after_attention": "albert_layers.0.attention.LayerNorm",
            "after_mlp": "albert_layers.0.full_layer_layer_norm",
        },
        mlp={"in": "albert_layers.0.ffn", "out": "albert_layers.0.ffn_output"},
        embedding_norm=None,
        widening="encoder.embedding_hidden_mapping_in",
        rules={**_NO_CROSS, "inner_group_num": (1,)},
    ),
    "bloom": Family(
        blocks="h",
        attention="self_attention",
        query="self_attention.query_key_value",
        key="self_attention.query_key_value",
        value="self_attention.query_key_value",
        fused="interleaved",
        output="self_attention.dense",
        norms={"before_attention": "input_layernorm", "before_mlp": "post_attention_layernorm"},
        mlp={"in": "mlp.dense_h_to_4h", "out": "mlp.dense_4h_to_h"},
        final_norm="ln_f",
        place="pre",
        position="alibi",
        scale="inv_norm_factor",
        attention_interface=False,
        rules={"apply_residual_connection_post_layernorm": (False,), "slow_but_exact": (False,)},
    ),
    "gpt_neox": replace(
        _ROTARY,
        attention="attention",
        query="attention.query_key_value",
        key="attention.query_key_value",
        value="attention.query_key_value",
        fused="interleaved",
        output="attention.dense",
        mlp={"in": "mlp.dense_h_to_4h", "out": "mlp.dense_4h_to_h"},
        final_norm="final_layer_norm",
    ),
    "opt": replace(
        _ROTARY,
        blocks="decoder.layers",
        output="self_attn.out_proj",
        norms={"before_attention": "self_attn_layer_norm", "before_mlp": "final_layer_norm"},
        mlp={"in": "fc1", "out": "fc2"},
        final_norm="decoder.final_layer_norm",
        position="learned",
        position_embeddings="decoder.embed_positions",
        widening="decoder.project_in",
        rotary=None,
        post_when=("do_layer_norm_before", False),
    ),
    "llama": _ROTARY,
    "mistral": _ROTARY,
    "qwen2": _ROTARY,
    "qwen3": _QUERY_KEY_NORM,
    "gemma2": replace(_SANDWICH, softcap="attn_logit_softcapping"),
    "gemma3": replace(_SANDWICH_NORMED, text_model="language_model"),
    "gemma3_text": _SANDWICH_NORMED,
    "phi": replace(
        _ROTARY,
        output="self_attn.dense",
        norms={"before_attention": "input_layernorm"},
        mlp={"in": "mlp.fc1", "out": "mlp.fc2"},
        final_norm="final_layernorm",
        query_norm="self_attn.q_layernorm",
        key_norm="self_attn.k_layernorm",
    ),
    "smollm3": _ROTARY,
    "olmo2": replace(
        _QUERY_KEY_NORM,
        norms={"after_attention": "post_attention_layernorm", "after_mlp": "post_feedforward_layernorm"},
        place="branch",
    ),
}


@dataclass(frozen=True)
class Shape:
    """How a small model of a family is made: what its config calls our words for sizes, and what it always says."""

    model_type: str
    names: dict[str, tuple[str, ...]]
    always: dict[str, Any]
    mlp: float


_SIZES = {"layers": ("num_hidden_layers",), "heads": ("num_attention_heads",), "length": ("max_position_embeddings",)}

SHAPES: dict[str, Shape] = {
    "learned": Shape(
        "gpt2",
        {
            "width": ("n_embd",),
            "layers": ("n_layer",),
            "heads": ("n_head",),
            "mlp": ("n_inner",),
            "length": ("n_positions",),
            "dropout": ("resid_pdrop", "embd_pdrop", "attn_pdrop"),
        },
        {"activation_function": "gelu_pytorch_tanh"},  # GPT-2's own function in one kernel
        mlp=4.0,
    ),
    "rotary": Shape(
        "llama",
        {**_SIZES, "width": ("hidden_size",), "mlp": ("intermediate_size",), "dropout": ("attention_dropout",)},
        {},
        mlp=8 / 3,
    ),
    "post-norm": Shape(
        "opt",
        {
            **_SIZES,
            "width": ("hidden_size", "word_embed_proj_dim"),
            "mlp": ("ffn_dim",),
            "dropout": ("dropout", "attention_dropout"),
        },
        {"do_layer_norm_before": False},
        mlp=4.0,
    ),
}
"""The architectures that are trained here, by their positions and norms; `mlp` times the width is inside their MLP."""

_BEFORE_TO_AFTER: dict[NormSite, NormSite] = {"before_attention": "after_attention", "before_mlp": "after_mlp"}


def family_of(config: Any) -> Family | None:
    """The row of this config's model_type, as post-norm where the config says so; None for an unknown family."""
    row = FAMILIES.get(config.model_type)
    if row is None or row.post_when is None or getattr(config, row.post_when[0]) != row.post_when[1]:
        return row
    norms = {_BEFORE_TO_AFTER[site]: path for site, path in row.norms.items()}
    return replace(row, norms=norms, place="post", final_norm=None)


# A config attribute that its own class does not know comes from a checkpoint that expects other code than the one
# installed; most are book-keeping, but one that names a part of attention may mean that the maths differ.
_CHANGES_MATHS = re.compile(r"attention|attn|rope|rotary|alibi|norm|scal|softcap|position|window|head|expert|residual")
# These stand in published configs and change nothing, with these values (None: with any).
_HARMLESS: dict[str, tuple[Any, ...] | None] = {
    "position_embedding_type": ("absolute",),
    "down_scale_factor": (1,),
    "attention_softmax_in_fp32": (True,),
    "offset_alibi": None,
    "sliding_window_size": None,
    "sliding_window_pattern": None,
    "max_window_layers": None,
}


def refuse_unknown_maths(config: Any, family: Family) -> None:
    """BrokenContract for config attributes that could change the maths and that this reading does not understand."""
    for name, understood in family.rules.items():
        value = getattr(config, name, understood[0])
        if value not in understood:
            raise BrokenContract(_not_understood(config, name, value, " or ".join(map(repr, understood))))
    known = set(type(config)().to_dict()) | set(config.attribute_map)
    for name, value in config.to_dict().items():
        if name in known or not value or not _CHANGES_MATHS.search(name):
            continue
        allowed = _HARMLESS.get(name, ())
        if allowed is not None and value not in allowed:
            raise BrokenContract(_not_understood(config, name, value, "no such attribute"))


def _not_understood(config: Any, name: str, value: Any, expected: str) -> str:
    return (
        f"expected {expected} for {name} in the config of a {config.model_type} model, got {value!r}, which may "
        "change the maths in an unknown way: load with check=False to proceed at your own risk"
    )

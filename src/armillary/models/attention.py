"""Attention as the model computes it, read call by call, and the same attention from our weights.

q, k and v are read at transformers' attention interface, after the model's own q/k norm and rotation; families without
that interface at their projections. Nothing is replaced: the call goes on to the implementation that the model had.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import local
from typing import Any

import torch
from einops import einsum, rearrange
from jaxtyping import Float
from torch import nn
from transformers.masking_utils import AttentionMaskInterface
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS, AttentionInterface

from armillary.errors import RequestError
from armillary.models.hooks import hidden_states, hooked
from armillary.models.view import View
from armillary.models.weights import Heads, fused_columns, submodule

Rotation = tuple[torch.Tensor, torch.Tensor]
PerHead = Float[torch.Tensor, "batch head position d_head"]


@dataclass(frozen=True)
class AttentionCall:
    """One call of one block's attention: its input after the norm, and what enters the scores.

    `mask` is boolean (True: may attend) or additive; None means causal or full, as `causal` says. `bias` is ALiBi's
    term, `sinks` a score per head that takes part in the softmax and attends to nothing. key and value have kv_head
    heads. Some models scale the query themselves and then say scaling 1: only the product of the two means anything.
    """

    block: int
    input: Float[torch.Tensor, "batch position d_model"]
    query: Float[torch.Tensor, "batch head position d_head"]
    key: Float[torch.Tensor, "batch kv_head position d_head"]
    value: Float[torch.Tensor, "batch kv_head position d_head"]
    scaling: float
    causal: bool
    mask: torch.Tensor | None = None
    bias: torch.Tensor | None = None
    sinks: Float[torch.Tensor, " head"] | None = None
    softcap: float | None = None
    rotation: Rotation | None = None


Receiver = Callable[[AttentionCall], None]


@contextmanager
def attention_calls(view: View, receive: Receiver) -> Iterator[None]:
    """While open, every pass of the backbone hands each of its attention calls to `receive`, in order of blocks."""
    family = view.known_family("attention")
    assert view.attentions is not None
    reading = _Reading(view, receive)
    before = (((view.backbone,), reading.begin), (view.attentions, reading.enter))
    if family.attention_interface:
        with hooked(before), _interface(view, reading):
            yield
    else:
        fused = [block.get_submodule(family.query) for block in view.blocks]
        with hooked(before, after=((fused, reading.projected),)):
            yield


class _Reading(local):
    """Joins what the hooks of one attention call in one thread see: the input from one, q, k and v from another."""

    def __init__(self, view: View, receive: Receiver) -> None:
        self.view, self.receive, self.block = view, receive, -1
        self.input: torch.Tensor
        self.given: dict[str, Any]

    def begin(self, *_: Any) -> None:
        self.block = -1

    def enter(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        # Blocks are counted by call: one module may stand for several blocks.
        self.block += 1
        self.input = hidden_states(args, kwargs)
        self.given = kwargs

    def interface(self, module: nn.Module, parts: tuple[torch.Tensor, ...], mask: Any, options: dict[str, Any]) -> None:
        query, key, value = parts
        causal = options.get("is_causal")
        scaling = options.get("scaling")
        rotation = self.given.get("position_embeddings") if getattr(module, "use_rope", True) else None
        call = AttentionCall(
            block=self.block,
            input=self.input,
            query=query,
            key=key,
            value=value,
            scaling=query.shape[-1] ** -0.5 if scaling is None else float(scaling),
            causal=bool(getattr(module, "is_causal", True) if causal is None else causal),
            mask=mask,
            sinks=options.get("s_aux"),
            softcap=options.get("softcap"),
            rotation=rotation,
        )
        self.receive(call)

    def projected(self, module: nn.Module, args: Any, output: torch.Tensor) -> None:
        assert self.view.family is not None
        assert self.view.attentions is not None
        columns = fused_columns(self.view.family)
        parts = rearrange(
            output, f"batch position {columns} -> three batch head position d_head", three=3, head=self.view.n_heads
        )
        alibi = rearrange(self.given["alibi"], "(batch head) one key -> batch head one key", head=self.view.n_heads)
        attention = self.view.attentions[self.block]
        call = AttentionCall(
            block=self.block,
            input=self.input,
            query=parts[0],
            key=parts[1],
            value=parts[2],
            scaling=float(getattr(attention, self.view.family.scale)),
            causal=True,
            mask=self.given.get("attention_mask"),
            bias=alibi,
        )
        self.receive(call)


_READINGS: dict[int, _Reading] = {}


@contextmanager
def _interface(view: View, reading: _Reading) -> Iterator[None]:
    """Run the model under a name of our own, whose functions read and then hand on to the one it had."""
    assert view.attentions is not None
    config, before = view.config, view.config._attn_implementation
    if before is not None and before.startswith("armillary_"):
        raise RequestError("expected one reading of attention at a time, got a second on this model: close the first")
    keys = [id(attention) for attention in view.attentions]
    _READINGS.update(dict.fromkeys(keys, reading))
    config._attn_implementation = _registered(before or "eager")
    try:
        yield
    finally:
        config._attn_implementation = before
        for key in keys:
            _READINGS.pop(key, None)


def _registered(implementation: str) -> str:
    """Our name for an implementation. Names stay registered: another thread may be reading another model by them."""
    name = f"armillary_{implementation}"

    def forward(
        module: nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any, **options: Any
    ) -> Any:
        if id(module) in _READINGS:
            _READINGS[id(module)].interface(module, (query, key, value), mask, options)
        return _own(module, implementation)(module, query, key, value, mask, **options)

    masks = AttentionMaskInterface()
    AttentionInterface.register(name, forward)
    if implementation in masks:
        # A name registered for attention alone gets no mask at all, and padding is ignored in silence.
        AttentionMaskInterface.register(name, masks[implementation])
    return name


def _own(module: nn.Module, implementation: str) -> Callable[..., Any]:
    home = sys.modules[type(module).__module__]
    registry = getattr(home, "ALL_ATTENTION_FUNCTIONS", ALL_ATTENTION_FUNCTIONS)
    return registry.get_interface(implementation, getattr(home, "eager_attention_forward", None))


def rotate(attention: nn.Module, x: PerHead, rotation: Rotation | None) -> PerHead:
    """x rotated by position, with the function of the attention's own code; x itself where nothing rotates."""
    if rotation is None:
        return x
    own = sys.modules[type(attention).__module__].apply_rotary_pos_emb
    width = rotation[0].shape[-1]
    rotated, _ = own(x[..., :width], x[..., :width], *rotation)
    return torch.cat([rotated, x[..., width:]], dim=-1)


def query_key_value(
    view: View, block: int, x: Float[torch.Tensor, "batch position d_model"], rotation: Rotation | None
) -> tuple[PerHead, PerHead, PerHead]:
    """Queries, keys and values of an attention input from our weights, with the model's own q/k norm and rotation.

    Keys and values stand once per query head; queries are not scaled.
    """
    heads = view.heads(block)
    pattern = "batch position d_model, head d_model d_head -> batch head position d_head"
    query = einsum(x, heads.W_Q, pattern) + heads.b_Q[:, None]
    key = einsum(x, heads.W_K, pattern) + heads.b_K[:, None]
    value = einsum(x, heads.W_V, pattern) + heads.b_V[:, None]
    query, key = normed(view, block, query, key, heads)
    attention = view.blocks[block].get_submodule(view.known_family("attention").attention)
    return rotate(attention, query, rotation), rotate(attention, key, rotation), value


def normed(view: View, block: int, query: PerHead, key: PerHead, heads: Heads) -> tuple[PerHead, PerHead]:
    """Queries and keys through the model's own q/k norm, which may see one head or all heads at once."""
    family = view.known_family("q/k norm")
    query_norm, key_norm = (submodule(view.blocks[block], path) for path in (family.query_norm, family.key_norm))
    if query_norm is None or key_norm is None:
        return query, key
    first = [heads.kv_head.index(kv_head) for kv_head in range(view.n_kv_heads)]
    query, key = _through(query_norm, query), _through(key_norm, key[:, first])
    return query, key[:, list(heads.kv_head)]


def _through(norm: nn.Module, x: torch.Tensor) -> torch.Tensor:
    width = next(norm.parameters()).shape[-1]
    if width == x.shape[-1]:
        return norm(x)
    joined = rearrange(x, "batch head position d_head -> batch position (head d_head)")
    return rearrange(norm(joined), "batch position (head d_head) -> batch head position d_head", head=x.shape[1])


def products(call: AttentionCall) -> Float[torch.Tensor, "batch head query key"]:
    """The logits: scaled products of queries and keys of all pairs, before soft cap, ALiBi and mask."""
    key = call.key.repeat_interleave(call.query.shape[1] // call.key.shape[1], dim=1)
    return einsum(call.query, key, "batch head query d, batch head key d -> batch head query key") * call.scaling


def scores(call: AttentionCall) -> Float[torch.Tensor, "batch head query key"]:
    """What goes into the softmax: scaled products, soft cap, ALiBi and mask; −inf or very low where masked."""
    found = products(call)
    if call.softcap is not None:
        found = torch.tanh(found / call.softcap) * call.softcap
    if call.bias is not None:
        found = found + call.bias
    if call.mask is None:
        if not call.causal:
            return found
        allowed = torch.ones(found.shape[-2:], dtype=torch.bool, device=found.device).tril()
        return found.masked_fill(~allowed, float("-inf"))
    mask = call.mask[..., : found.shape[-1]]
    return found.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else found + mask


def probabilities(call: AttentionCall) -> Float[torch.Tensor, "batch head query key"]:
    """The whole attention maps of a call; rows sum to 1, or to less where a sink takes the rest."""
    found = scores(call).float()
    if call.sinks is None:
        return torch.softmax(found, dim=-1)
    sinks = call.sinks.float()[:, None, None].expand(*found.shape[:-1], 1)
    return torch.softmax(torch.cat([found, sinks], -1), dim=-1)[..., :-1]


def attention_output(view: View, call: AttentionCall) -> Float[torch.Tensor, "batch position d_model"]:
    """The attention of a call from our weights alone: projections, scores, softmax, W_O and its bias."""
    heads = view.heads(call.block)
    query, key, value = query_key_value(view, call.block, call.input, call.rotation)
    ours = replace(call, query=query, key=key, value=value, scaling=heads.scale, softcap=heads.softcap)
    pattern = probabilities(ours).to(value.dtype)
    mixed = einsum(pattern, value, "batch head query key, batch head key d_head -> batch head query d_head")
    return einsum(mixed, heads.W_O, "batch head query d_head, head d_head d_model -> batch query d_model") + heads.b_O

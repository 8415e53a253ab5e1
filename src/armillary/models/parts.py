"""Queries and keys of the parts of an attention's input: what each part of a sum brings to the scores."""

from collections.abc import Sequence

import torch
from einops import einsum, rearrange
from jaxtyping import Float
from torch import nn

from armillary.models.attention import Rotation, rotate
from armillary.models.view import View
from armillary.models.weights import Norm, norm_of, submodule

PerPart = Float[torch.Tensor, "part head position d_head"]


def query_key_parts(
    view: View, block: int, parts: Float[torch.Tensor, "part position d_model"], rotation: Rotation | None
) -> tuple[PerPart, PerPart]:
    """Queries (scaled) and keys of each part, float64; summed over parts they are those of the summed input.

    Biases go with the first part. A q/k norm is no linear map, but it is one once its size is known: every part is
    divided by the root mean square of the sum of all parts, multiplied by the gain; a norm's bias goes with the first.
    Each part is rotated by its position. Keys stand once per query head.
    """
    family, heads = view.known_family("queries and keys"), view.heads(block)
    own = [heads.kv_head.index(kv_head) for kv_head in range(view.n_kv_heads)]
    module = view.blocks[block]
    query = _projected(parts, heads.W_Q, heads.b_Q)
    key = _projected(parts, heads.W_K[own], heads.b_K[own])
    query = _normed(query, submodule(module, family.query_norm), view)
    key = _normed(key, submodule(module, family.key_norm), view)[:, list(heads.kv_head)]
    attention = module.get_submodule(family.attention)
    return rotate(attention, query, rotation) * heads.scale, rotate(attention, key, rotation)


def _projected(
    parts: Float[torch.Tensor, "part position d_model"],
    W: Float[torch.Tensor, "head d_model d_head"],
    bias: Float[torch.Tensor, "head d_head"],
) -> PerPart:
    found = einsum(
        parts.double(), W.double(), "part position d_model, head d_model d_head -> part head position d_head"
    )
    found[0] += bias.double()[:, None]
    return found


def _normed(parts: PerPart, module: nn.Module | None, view: View) -> PerPart:
    """The parts through a q/k norm whose size is that of their sum; the norm may see one head or all at once."""
    if module is None:
        return parts
    heads, d_head = parts.shape[1], parts.shape[-1]
    norm = norm_of(module, view.known_family("q/k norm"), d_head)
    if len(norm.gain) == d_head:
        return _frozen(norm, parts)
    joined = rearrange(parts, "part head position d_head -> part position (head d_head)")
    return rearrange(_frozen(norm, joined), "part position (head d_head) -> part head position d_head", head=heads)


def _frozen(norm: Norm, parts: Float[torch.Tensor, "part *rows width"]) -> Float[torch.Tensor, "part *rows width"]:
    if norm.kind == "layer":
        parts = parts - parts.mean(-1, keepdim=True)
    size = torch.rsqrt(parts.sum(0).square().mean(-1, keepdim=True) + norm.eps)
    found = parts * size * norm.gain.double()
    found[0] += norm.bias.double()
    return found


def rotation_at(view: View, block: int, positions: Sequence[int]) -> Rotation | None:
    """The model's own rotation of a block at given positions; None where nothing rotates."""
    return view.rotation(block, torch.tensor([list(positions)], device=view.device))

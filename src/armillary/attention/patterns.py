"""Attention patterns a few queries at a time: what sums over a map need, without ever holding the maps of all heads."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from armillary.models.attention import AttentionCall

BLOCK_BYTES = 2**21
"""How large one block of logits may be: small enough to stay in a processor's cache from one operation to the next."""

QUERIES = 16
"""The number of queries of a block is a multiple of this: products of other sizes are slower."""


@dataclass(frozen=True)
class Rows:
    """Some queries and all keys that any of them may see; keys outside `keys` are masked for every one of them.

    `logits` are less the largest of each row and very low where masked. `absent` is the exponential of what a sink adds
    to the softmax, zero without one: p = exp(logits) / (Σ exp(logits) + absent).
    """

    queries: slice
    keys: slice
    logits: Float[Tensor, "batch head query key"]
    allowed: Bool[Tensor, "#batch #head query key"]
    absent: Float[Tensor, "batch head query"]

    def probabilities(self) -> Float[Tensor, "batch head query key"]:
        """The attention of these queries on `keys`."""
        weights = self.logits.exp()
        return weights / (weights.sum(-1) + self.absent)[..., None]


def rows(call: AttentionCall, queries: range | None = None, size: int | None = None) -> Iterator[Rows]:
    """The queries of a call (or some of them) in blocks, in order: memory is linear in the length of the window.

    In float32, or float64 where the model runs in it; soft cap, ALiBi, mask, window and sink as the model has them.
    """
    wide = torch.promote_types(call.query.dtype, torch.float32)
    query = (call.query.to(wide) * call.scaling).unflatten(1, (call.key.shape[1], -1))
    key = call.key.to(wide).transpose(-1, -2)
    asked = range(query.shape[3]) if queries is None else queries
    size = block_size(call) if size is None else size
    for start in range(asked.start, asked.stop, size):
        part = slice(start, min(start + size, asked.stop))
        allowed = allowed_keys(call, part)
        keys = seen_keys(call, allowed, part)
        allowed = allowed[..., keys]
        logits = torch.matmul(query[:, :, :, part].flatten(2, 3), key[..., keys])
        logits = logits.unflatten(2, (-1, part.stop - start)).flatten(1, 2)
        shape_logits(call, logits, part, keys, allowed)
        absent = less_largest(call, logits)
        yield Rows(part, keys, logits, allowed, absent)


def block_size(call: AttentionCall) -> int:
    """How many queries make a block of at most BLOCK_BYTES."""
    batch, heads, length, _ = call.query.shape
    fitting = BLOCK_BYTES // (4 * batch * heads * call.key.shape[2])
    return min(length, max(QUERIES, fitting // QUERIES * QUERIES))


def allowed_keys(call: AttentionCall, queries: slice) -> Bool[Tensor, "#batch #head query key"]:
    """Which keys the queries may see, from the model's own mask."""
    length, device = call.key.shape[2], call.query.device
    if call.mask is None:
        at = torch.arange(length, device=device)
        seen = at <= at[queries, None] if call.causal else at.new_ones(len(at[queries]), length, dtype=torch.bool)
        return seen[None, None]
    mask = masked_rows(call, queries)
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2


def masked_rows(call: AttentionCall, queries: slice) -> Tensor:
    """The mask of some queries."""
    assert call.mask is not None
    return call.mask.expand(*call.mask.shape[:-2], call.query.shape[2], -1)[..., queries, : call.key.shape[2]]


def seen_keys(call: AttentionCall, allowed: Bool[Tensor, "#batch #head query key"], queries: slice) -> slice:
    """The keys that some of these queries may see, from the first to the last; no device is asked and waited for."""
    if call.mask is None:
        return slice(0, queries.stop if call.causal else allowed.shape[-1])
    return extent(allowed.flatten(0, -2).any(0)) if allowed.device.type == "cpu" else slice(0, allowed.shape[-1])


def home(tensor: Tensor) -> torch.device:
    """Where numbers of a tensor are summed in float64: where it is, unless that device has no such numbers."""
    return torch.device("cpu") if tensor.device.type == "mps" else tensor.device


def extent(seen: Bool[Tensor, " key"]) -> slice:
    """From the first to the last key that is seen; all of them where none is."""
    places = seen.nonzero()
    return slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, len(seen))


def shape_logits(call: AttentionCall, logits: Tensor, queries: slice, keys: slice, allowed: Tensor) -> None:
    """Scaled products made into what enters the softmax, in place: soft cap, ALiBi, mask."""
    if call.softcap is not None:
        logits.div_(call.softcap).tanh_().mul_(call.softcap)
    if call.bias is not None:
        logits += call.bias[..., keys]
    lowest = torch.finfo(logits.dtype).min
    if call.mask is not None and call.mask.dtype != torch.bool:
        # A mask of −inf would make 0 · −inf of a masked key's part of the entropy.
        logits += masked_rows(call, queries)[..., keys].to(logits.dtype).clamp_min(lowest)
        return
    partly = ~allowed.flatten(0, -2).all(0)
    if logits.device.type != "cpu":
        logits.masked_fill_(~allowed, lowest)
    elif bool(partly.any()):
        some = extent(partly)
        logits[..., some].masked_fill_(~allowed[..., some], lowest)


def less_largest(call: AttentionCall, logits: Tensor) -> Float[Tensor, "batch head query"]:
    """Take the largest logit off each row, in place, and give what a sink adds to the row's sum of exponentials."""
    largest = logits.amax(-1)
    if call.sinks is None:
        logits -= largest[..., None]
        return torch.zeros_like(largest)
    sinks = call.sinks.to(logits.dtype)[:, None]
    largest = torch.maximum(largest, sinks)
    logits -= largest[..., None]
    return (sinks - largest).exp()

"""QK constituents: which part of the embedding, the mean, its position or the rest, makes a head attend as it does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import xarray as xr
from einops import einsum
from jaxtyping import Float, Int

from armillary.attention.patterns import allowed_keys
from armillary.errors import RequestError
from armillary.measures.constituents import part_covariance, part_share
from armillary.measures.errors.jackknife import standard_error
from armillary.models.attention import AttentionCall
from armillary.models.parts import query_key_parts
from armillary.models.view import View
from armillary.prompts.prompt import Ids, prompt_ids, read_pass
from armillary.results.measuring import described
from armillary.results.schema.naming import PARTS
from armillary.results.store import Run


@dataclass(frozen=True)
class Known:
    """What a run knows of one attention's inputs: their mean, and the mean at each position less the mean.

    `measured` are the positions that the run kept; position 0 may be set `apart`, and is then known by its own mean.
    """

    mean: Float[np.ndarray, "d_model"]
    position: Float[np.ndarray, "position d_model"]
    measured: Int[np.ndarray, "measured"]
    apart: bool


def constituents(
    view: View,
    run: Run,
    source: Any,
    block: int = 3,
    head: int | None = None,
    *,
    mean: bool = True,
) -> xr.DataArray:
    """Attention scores of one text by what makes them: (head, part_query, part_key, query, key).

    The attention's input, after its norm, is mean + position + rest, the first two as the run found them. Each is
    projected by W_Q and W_K (biases go with the mean, `global`) and turned by its position; the nine parts add up to
    the model's own logits, scale counted, before soft cap, ALiBi and mask, for all pairs. ALiBi's term is a coordinate,
    `bias` (head, query, key). With `mean=False` the global parts are left out, and four remain. Where q and k are
    normalised the norm's size is held at its actual value: the sum is exact, the parts depend on each other through it.
    """
    heads = _heads(view, head)
    ids = prompt_ids(view, source)
    known = known_parts(view, run, block, len(ids))
    call = call_of(view, ids, block)
    chosen = list(range(len(PARTS))) if mean else [1, 2]
    scores = part_scores(view, call, known)[heads][:, chosen][:, :, chosen]
    names = [PARTS[part] for part in chosen]
    found = xr.DataArray(
        scores,
        dims=("head", "part_query", "part_key", "query", "key"),
        coords={"head": heads, "part_query": names, "part_key": names},
        name="constituents",
        attrs={
            "units": "1",
            "long_name": "what each pair of parts adds to the logits",
            "model": view.name,
            "block": block,
            "form": "bilinear" if view.heads(block).bilinear else "q/k norm, its size held at its actual value",
        },
    )
    if call.bias is None:
        return found
    bias = call.bias[0, heads].expand(-1, len(ids), -1).float().cpu().numpy()
    return found.assign_coords(bias=(("head", "query", "key"), bias))


def part_scores(
    view: View, call: AttentionCall, known: Known
) -> Float[np.ndarray, "head part_query part_key query key"]:
    """What each pair of parts adds to the logits of one attention call, float64."""
    query, key = query_key_parts(view, call.block, input_parts(call.input[0], known), call.rotation)
    pattern = "part_query head query d, part_key head key d -> head part_query part_key query key"
    return einsum(query, key, pattern).cpu().numpy()


def shares(view: View, run: Run, texts: Sequence[str] | None = None, *, windows: int = 16) -> xr.Dataset:
    """Share of each of the nine parts in the variation of the logits over keys, per head, with errors over documents.

    Over `windows` windows of the run, spread evenly over its groups of documents, or over given texts, each a document.
    See `measures.constituents.part_share` for the definition; ALiBi's term is not counted. Keys are those that a query
    may attend to; position 0 is left out, as query and as key, where the run left it out.
    """
    plan = read_plan(view, run, texts, windows)
    known = all_known(view, run, max(len(ids) for ids in plan.windows))
    sums = np.zeros((len(plan.sizes), view.n_blocks, view.n_heads, len(PARTS), len(PARTS)))
    group = 0

    def receive(call: AttentionCall) -> None:
        sums[group, call.block] += _covariances(view, call, known[call.block])

    for ids, number in zip(plan.windows, plan.groups, strict=True):
        group = int(number)
        read_pass(view, ids, receive)
    share = _each_head(part_share, sums.sum(0))
    without = _each_head(part_share, sums.sum(0) - sums)
    axes = ("block", "head", "part_query", "part_key")
    dataset = xr.Dataset(
        {"share": (axes, share), "share_se": (axes, standard_error(share, without, plan.sizes))},
        coords={"part_query": list(PARTS), "part_key": list(PARTS)},
        attrs={"model": view.name, "windows": len(plan.windows), "groups": len(plan.sizes)},
    )
    return described("constituents", dataset)


def known_parts(view: View, run: Run, block: int, length: int) -> Known:
    """Mean and position part of a block's attention inputs up to `length`, from the run; refuses what does not fit."""
    view.heads(block)
    node = attention_inputs(view, run)
    positions = node.position.values.astype(np.int64)
    longest = int(positions[-1]) + 1
    if length > longest:
        raise RequestError(
            f"expected at most {longest} tokens, as many as the run's windows have, came {length}; "
            "shorten the text or survey with a larger --length"
        )
    one = node.isel(block=block)
    mean = one["mean"].values.astype(np.float64)
    position = np.zeros((longest, len(mean)))
    position[positions] = one.position_basis.values
    if positions[0] > 0:
        position[0] = one["first"].values - mean
    return Known(mean, position[:length], positions[positions < length], bool(positions[0] > 0))


def attention_inputs(view: View, run: Run) -> xr.Dataset:
    """The run's group of attention inputs, if it is one of this very model."""
    theirs, ours = run.provenance.get("model_sha256", ""), view.provenance.get("model_sha256", "")
    if theirs != ours:
        raise RequestError(
            f"expected a run of {view.name} itself, came one of {run.provenance.get('model')!r} with other weights "
            f"(sha256 {str(theirs)[:12]} against {ours[:12]}); survey this model first"
        )
    if "attention" not in run.results.children:
        raise RequestError("expected a run with the attentions' inputs, came one without; survey with --sites all")
    return run.results["attention"].to_dataset()


def all_known(view: View, run: Run, length: int) -> list[Known]:
    """What the run knows of every block."""
    return [known_parts(view, run, block, length) for block in range(view.n_blocks)]


def _heads(view: View, head: int | None) -> list[int]:
    if head is None:
        return list(range(view.n_heads))
    if not 0 <= head < view.n_heads:
        raise RequestError(f"expected a head from 0 to {view.n_heads - 1}, came {head}")
    return [head]


def call_of(view: View, ids: Ids, block: int) -> AttentionCall:
    """The attention call of one block in a pass of one row of ids."""
    calls: list[AttentionCall] = []
    read_pass(view, ids, lambda call: calls.append(call) if call.block == block else None)
    return calls[0]


def input_parts(
    x: Float[torch.Tensor, "position d_model"], known: Known
) -> Float[torch.Tensor, "part position d_model"]:
    """Mean, position and what is left, in float64; they add up to x."""
    wide = x.double()
    mean = torch.from_numpy(known.mean).to(x.device).expand_as(wide)
    position = torch.from_numpy(known.position[: len(x)]).to(x.device)
    return torch.stack([mean, position, wide - mean - position])


def _covariances(view: View, call: AttentionCall, known: Known) -> Float[np.ndarray, "head part_query part_key"]:
    query, key = query_key_parts(view, call.block, input_parts(call.input[0], known), call.rotation)
    allowed = allowed_keys(call, slice(None))[0, 0].cpu().numpy().copy()
    if known.apart:
        allowed[0] = allowed[:, 0] = False
    queries, keys = query.cpu().numpy(), key.cpu().numpy()
    return np.stack([part_covariance(queries[:, h], keys[:, h], allowed) for h in range(view.n_heads)])


def _each_head(measure: Any, stacked: Float[np.ndarray, "*some part_query part_key"]) -> np.ndarray:
    flat = stacked.reshape(-1, *stacked.shape[-2:])
    return np.stack([measure(one) for one in flat]).reshape(stacked.shape)


@dataclass(frozen=True)
class ReadPlan:
    """Windows to read, the group of each, and how many windows each group has."""

    windows: list[Ids]
    groups: Int[np.ndarray, "window"]
    sizes: Float[np.ndarray, "group"]


def read_plan(view: View, run: Run, texts: Sequence[str] | None, windows: int) -> ReadPlan:
    """What to read: windows of the run, spread evenly over its groups, or given texts, each a group of its own."""
    attention_inputs(view, run)
    if texts is not None:
        if isinstance(texts, str) or not len(texts):
            raise RequestError("expected a list of texts, came none or a single one; put it into a list")
        return ReadPlan([prompt_ids(view, text) for text in texts], np.arange(len(texts)), np.ones(len(texts)))
    if windows < 1:
        raise RequestError(f"expected at least 1 window, came {windows}")
    corpus = run.results["corpus"].to_dataset()
    tokens, group = corpus.tokens.values, corpus.group.values
    # Windows are stored sorted by group, so that even steps visit as many groups as there can be.
    chosen = np.unique(np.linspace(0, len(tokens) - 1, min(windows, len(tokens))).round().astype(int))
    _, groups = np.unique(group[chosen], return_inverse=True)
    return ReadPlan([tokens[row].astype(np.int64) for row in chosen], groups, np.bincount(groups).astype(np.float64))

"""QK constituents: which part of an attention's input, mean, position or residual, makes a head attend as it does."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from einops import einsum
from jaxtyping import Bool, Float, Int

from armillary.attention.patterns import allowed_keys
from armillary.errors import refuse_outside
from armillary.measures.constituents import part_covariance, part_share
from armillary.measures.errors.jackknife import effective_groups, standard_error
from armillary.models.attention import AttentionCall
from armillary.models.parts import query_key_parts
from armillary.models.view import View
from armillary.probes.inputs import Known, all_known, attention_inputs, input_parts, known_parts, known_without
from armillary.probes.windows import read_plan
from armillary.prompts.ids import Ids, prompt_ids, read_pass
from armillary.results.measuring import described
from armillary.results.schema.naming import PARTS
from armillary.results.store import Run
from armillary.surveys.running import read_calls


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

    The attention's input, after its norm, is mean + position + residual, the first two as the run found them. Each is
    projected by W_Q and W_K (biases go with the mean) and rotated by its position; the nine parts add up to the model's
    own logits, scale counted, before soft cap, ALiBi and mask, for all pairs. ALiBi's term is a coordinate, `bias`
    (head, query, key). With `mean=False` the parts with the mean are left out, and four remain. Where q and k are
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
    may attend to; position 0 is left out, as query and as key, where the run left it out. A window is part of the means
    that it is split by, which alone would give position a share; so each window of the run is split by the means
    without it. `share_null` is the same with the positional basis of circularly shifted windows (see `shifted_parts`).
    The error adds two: the jackknife's over the windows read, and that of the positional basis, which all windows
    share (see `basis_error`).
    """
    inputs = attention_inputs(view, run)
    plan = read_plan(view, run, texts, windows)
    known = all_known(view, run, max(len(ids) for ids in plan.windows))
    shifted = [shifted_parts(inputs, parts, block) for block, parts in enumerate(known)]
    sums, null = np.zeros((2, len(plan.sizes), view.n_blocks, view.n_heads, len(PARTS), len(PARTS)))
    found = np.zeros((len(plan.windows), 2, *sums.shape[1:]))

    def receive(window: int, call: AttentionCall) -> None:
        own, by_chance = known[call.block], shifted[call.block]
        if plan.rows is not None:
            x, row = call.input[0].double().cpu().numpy(), int(plan.rows[window])
            counted, shift = counted_positions(run, row, len(x)), int(run.results["corpus"].to_dataset()["shift"][row])
            own = known_without(own, x, inputs.sizes["context"], counted)
            moved = [circular(part, own.measured, shift) for part in (x, counted)]
            by_chance = known_without(by_chance, moved[0], inputs.sizes["context"], moved[1])
        for into, parts in zip(found[window], (own, by_chance), strict=True):
            into[call.block] = _covariances(view, call, parts)

    read_calls(view, [ids[None] for ids in plan.windows], receive)
    for group, (own, by_chance) in zip(plan.groups, found, strict=True):
        sums[group] += own
        null[group] += by_chance
    axes = ("block", "head", "part_query", "part_key")
    without, share_null = _each_head(part_share, sums.sum(0) - sums), _each_head(part_share, null.sum(0))
    dataset = xr.Dataset(
        {
            "share": (axes, _each_head(part_share, sums.sum(0))),
            "share_se": (axes, np.hypot(standard_error(without), basis_error(share_null))),
            "share_null": (axes, share_null),
        },
        coords={"part_query": list(PARTS), "part_key": list(PARTS)},
        attrs={"model": view.name, "windows": len(plan.windows), "groups": effective_groups(plan.sizes)},
    )
    return described("constituents", dataset)


def shifted_parts(inputs: xr.Dataset, known: Known, block: int) -> Known:
    """The null of what a run knows: the means at each position after every window was circularly shifted.

    Noise of the same size and smoothness, in which nothing belongs to a position.
    """
    position = known.position.copy()
    position[known.measured] = inputs.position_null.values[block][: len(known.measured)]
    return replace(known, position=position)


def basis_error(
    share_null: Float[np.ndarray, "block head part_query part_key"],
) -> Float[np.ndarray, "block head part_query part_key"]:
    """How far noise in the positional basis moves the shares: the root mean square of the null over a block's heads.

    Every window is split by nearly the same basis, so its noise shows in no spread over windows. Only shares of parts
    with position have it; those of the other parts hardly change.
    """
    position = PARTS.index("position")
    scale = np.sqrt(np.mean(share_null**2, axis=1, keepdims=True))
    of_position = np.zeros((len(PARTS), len(PARTS)), dtype=bool)
    of_position[position] = of_position[:, position] = True
    return np.where(of_position, scale, 0) + np.zeros_like(share_null)


def counted_positions(run: Run, row: int, length: int) -> Bool[np.ndarray, " position"]:
    """Where a window's tokens entered the means: everywhere, but for the massive ones of a run that left them out."""
    counted = np.ones(length, dtype=bool)
    if int(run.results["residual"].holes):
        named = run.results["outliers"]
        places = named.position.values[named.context.values == row].astype(int)
        counted[places[places < length]] = False
    return counted


def circular(values: np.ndarray, measured: Int[np.ndarray, " measured"], shift: int) -> np.ndarray:
    """Values along positions after a circular shift of the measured ones, as the null shifts a window."""
    moved = values.copy()
    moved[measured] = np.roll(values[measured], shift, axis=0)
    return moved


def _heads(view: View, head: int | None) -> list[int]:
    if head is None:
        return list(range(view.n_heads))
    refuse_outside("a head", head, 0, view.n_heads - 1)
    return [head]


def call_of(view: View, ids: Ids, block: int) -> AttentionCall:
    """The attention call of one block in a pass of one row of ids."""
    calls: list[AttentionCall] = []
    read_pass(view, ids, lambda call: calls.append(call) if call.block == block else None)
    return calls[0]


def _covariances(view: View, call: AttentionCall, known: Known) -> Float[np.ndarray, "head part_query part_key"]:
    query, key = query_key_parts(view, call.block, input_parts(call.input[0], known), call.rotation)
    allowed = allowed_keys(call, slice(None))[0, 0].cpu().numpy().copy()
    if known.apart:
        allowed[0] = allowed[:, 0] = False
    queries, keys = query.cpu().numpy(), key.cpu().numpy()
    return np.stack([part_covariance(queries[:, h], keys[:, h], allowed) for h in range(view.n_heads)])


def _each_head(measure: Any, stacked: Float[np.ndarray, "*some part_query part_key"]) -> np.ndarray:
    flat = stacked.reshape(-1, *stacked.shape[-2:])
    return np.stack([measure(matrix) for matrix in flat]).reshape(stacked.shape)

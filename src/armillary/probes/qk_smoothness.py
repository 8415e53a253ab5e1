"""How smooth attention scores are, and whether the position vectors' own smoothness is what makes them so."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int

from armillary.measures.constituents import argmax_share
from armillary.measures.errors.jackknife import effective_groups, standard_error
from armillary.measures.smoothness import gram, low_frequency_share
from armillary.models.attention import AttentionCall, products
from armillary.models.parts import query_key_parts, rotation_at
from armillary.models.view import View
from armillary.probes.inputs import Known, all_known, attention_inputs
from armillary.probes.windows import ReadPlan, read_plan
from armillary.results.measuring import described
from armillary.results.store import Run
from armillary.surveys.running import model_threads, read_calls

HIGHEST = 20
"""The highest frequency up to which shares are given."""


def qk_smoothness(view: View, run: Run, *, windows: int = 8) -> xr.Dataset:
    """How smooth P Pᵀ, P W Pᵀ and the logits are, and how often the positional part peaks at its own position.

    low_frequency_share_gram(block, frequency): of the cosines of the position vectors of the attention's input.
    low_frequency_share_weighted(block, head, frequency): of P W Pᵀ, the position → position term, vectors of their own
    norm and rotated by their positions. low_frequency_share_logits: of the full scores before mask, soft cap and ALiBi,
    mean over windows, with its error over documents. argmax_share(block, head): of (P + mean) W (P + mean)ᵀ, biases
    counted. Those of P have their null from the run's circularly shifted windows. Only positions that the run measured
    count. Where q and k are normalised the norm's size is that of mean + position.
    """
    inputs = attention_inputs(view, run)
    plan = read_plan(view, run, None, windows)
    known = all_known(view, run, max(len(ids) for ids in plan.windows))
    with model_threads(view) as crew:
        found = list(crew.map(lambda block: _position_scores(view, block, known[block], None), range(view.n_blocks)))
    nulls = [inputs.position_null.isel(block=block).values.astype(np.float64) for block in range(view.n_blocks)]
    with model_threads(view) as crew:
        moved = crew.map(lambda block: _position_scores(view, block, known[block], nulls[block]), range(view.n_blocks))
        shifted = list(moved)
    logits, error = _logit_shares(view, plan, known[0].measured)
    bases = [known[block].position[known[block].measured] for block in range(view.n_blocks)]
    per_block, per_head = ("block", "frequency"), ("block", "head", "frequency")
    gram_shares, gram_null = ([low_frequency_share(gram(basis), HIGHEST) for basis in side] for side in (bases, nulls))
    dataset = xr.Dataset(
        {
            "low_frequency_share_gram": (per_block, np.stack(gram_shares)),
            "low_frequency_share_gram_null": (per_block, np.stack(gram_null)),
            "low_frequency_share_weighted": (per_head, np.stack([scores.shares for scores in found])),
            "low_frequency_share_weighted_null": (per_head, np.stack([scores.shares for scores in shifted])),
            "low_frequency_share_logits": (per_head, logits),
            "low_frequency_share_logits_se": (per_head, error),
            "argmax_share": (("block", "head"), np.stack([scores.peaks for scores in found])),
            "argmax_share_null": (("block", "head"), np.stack([scores.peaks for scores in shifted])),
        },
        attrs={"model": view.name, "windows": len(plan.windows), "groups": effective_groups(plan.sizes)},
    )
    return described("qk_smoothness", dataset)


def _logit_shares(
    view: View, plan: ReadPlan, rows: Int[np.ndarray, "measured"]
) -> tuple[Float[np.ndarray, "block head frequency"], Float[np.ndarray, "block head frequency"]]:
    """Mean over windows of the low-frequency shares of the full scores, and its standard error over documents."""
    sums = np.zeros((len(plan.sizes), view.n_blocks, view.n_heads, HIGHEST + 1))
    found = np.zeros((len(plan.windows), *sums.shape[1:]))

    def receive(window: int, call: AttentionCall) -> None:
        scores = products(call)[0].double().cpu().numpy()[:, rows[:, None], rows]
        found[window, call.block] = [low_frequency_share(of_head, HIGHEST) for of_head in scores]

    read_calls(view, [ids[None] for ids in plan.windows], receive)
    for group, shares in zip(plan.groups, found, strict=True):
        sums[group] += shares
    sizes = plan.sizes.reshape(-1, 1, 1, 1)
    mean, without = sums.sum(0) / sizes.sum(), (sums.sum(0) - sums) / np.maximum(sizes.sum() - sizes, 1)
    return mean, standard_error(without)


@dataclass(frozen=True)
class _Peaks:
    shares: Float[np.ndarray, "head frequency"]
    peaks: Float[np.ndarray, "head"]


def _position_scores(
    view: View, block: int, known: Known, basis: Float[np.ndarray, "position d_model"] | None
) -> _Peaks:
    """Low-frequency shares of the position → position term, and where the scores of mean and position peak."""
    position = known.position[known.measured] if basis is None else basis[: len(known.measured)]
    mean = np.broadcast_to(known.mean, position.shape)
    parts = torch.from_numpy(np.stack([mean, position])).to(view.device)
    query, key = query_key_parts(view, block, parts, rotation_at(view, block, known.measured.tolist()))
    queries, keys = query.cpu().numpy(), key.cpu().numpy()
    each = range(view.n_heads)
    return _Peaks(
        np.stack([low_frequency_share(queries[1, h] @ keys[1, h].T, HIGHEST) for h in each]),
        np.array([argmax_share(queries[:, h].sum(0) @ keys[:, h].sum(0).T) for h in each]),
    )

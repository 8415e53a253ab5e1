"""Where the sums of a shard are made: beside the states, if that device can; they come to the host once per shard."""

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.measures.massive import massive, norm_ratios
from armillary.models.view import View
from armillary.surveys.pilot import Pilot
from armillary.surveys.plan import Plan
from armillary.surveys.sums.batch import HOST
from armillary.surveys.sums.outliers import outliers
from armillary.surveys.sums.sample import Sample, drawn_places
from armillary.surveys.sums.state import State

SPARE = 0.8
"""The part of a device's free memory that sums may take."""


def summing_device(view: View, plan: Plan) -> torch.device:
    """Where sums are made: with the model, unless it lies on several devices, or its own lacks float64 or room."""
    places = {parameter.device for parameter in view.model.parameters()}
    if len(places) != 1 or view.device.type in ("cpu", "mps", "meta"):
        return HOST
    if view.device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(view.device)
        if shard_bytes(view, plan) > SPARE * free:
            return HOST
    return view.device


def shard_bytes(view: View, plan: Plan) -> int:
    """What the sums of one shard take: matrices, the null, and the groups that it has windows of."""
    sites, width = 2 * view.n_blocks + 1, view.d_model
    groups = max(len(set(plan.groups[shard.start : shard.stop].tolist())) for shard in plan.shards)
    matrices = sites if plan.scatter == "attention" else view.n_blocks + 1
    return 8 * width * (width * matrices + len(plan.positions) * sites * (groups + 1))


@dataclass(frozen=True)
class Unread:
    """The norms of a batch that the host has not looked at yet: which tokens are massive, whether all are finite."""

    contexts: range
    norms: Float[Tensor, "layer context position"]


def moved(value: Any, to: torch.device) -> Any:
    """A record on another device; counts that were not known to the host become plain numbers there."""
    if isinstance(value, Tensor):
        there = value.to(to)
        return int(there) if not there.ndim and to == HOST else there
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: moved(getattr(value, field.name), to) for field in fields(value)})
    if isinstance(value, dict):
        return {key: moved(item, to) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(moved(item, to) for item in value)
    return value


def named_tokens(state: State, unread: list[Unread], plan: Plan, first: Pilot) -> State:
    """The state of a shard, its massive and sampled tokens named from norms that have come to the host."""
    found, sample = state.outliers, list(state.sample.tokens)
    for batch in unread:
        contexts = tuple(batch.contexts)
        tokens = torch.from_numpy(plan.tokens[batch.contexts.start : batch.contexts.stop])[:, plan.skipped :]
        ratios = norm_ratios(batch.norms[:, :, plan.skipped :], first.medians, first_kept=not plan.skipped)
        found = found.merge(outliers(ratios, tokens, contexts, plan.skipped))
        flagged = massive(ratios)
        for row, column in drawn_places(contexts, tokens.shape[1], plan.skipped, plan.sample):
            place = (contexts[row], column + plan.skipped)
            sample.append((*place, int(tokens[row, column]), bool(flagged[row, column])))
    return replace(state, outliers=found, sample=Sample(tuple(sample), state.sample.states))

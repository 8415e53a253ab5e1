"""The heads of a block under the lens: predicted and measured logits, what maps keep, what fixed weights miss."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from einops import einsum
from jaxtyping import Bool, Float, Int
from scipy.linalg import eigh

from armillary.measures.errors.leave_out import debiased
from armillary.measures.gaussian.distance import PairScatter, information_of, information_sets, pair_scatter
from armillary.measures.gaussian.heads import KeptShare, MixingGap, kept_at_random, kept_share, mixing_gap
from armillary.measures.gaussian.logits import LogitMoments, logit_moments
from armillary.models.attention import AttentionCall, probabilities, query_key_value, rotate
from armillary.models.parts import rotation_at
from armillary.models.view import View
from armillary.probes.lens.sample import Sample
from armillary.results.schema.gaussian import PROJECTIONS
from armillary.system.threads import side_by_side

LOGIT_DISTANCES = (0, 1, 8, 32)
"""Distances of query and key at which logits are looked at, those that fit into half of a window."""

NEIGHBOUR = 1
"""How far apart the tokens are whose mutual information maps and mixing are judged by."""

Values = Float[np.ndarray, "head context position d_head"]


@dataclass(frozen=True)
class BlockHeads:
    """Queries and keys before rotation, values, outputs by real and by fixed weights, head by head, as float32."""

    query: Values
    key: Values
    value: Values
    output: Values
    fixed: Values


@dataclass(frozen=True)
class Under:
    """What is the same for all heads: which positions count, the groups of documents, directions to project to."""

    at: slice
    kept: Bool[np.ndarray, "context position"]
    group: Int[np.ndarray, " context"]
    directions: int

    @classmethod
    def of(cls, sample: Sample, directions: int) -> "Under":
        """Positions before the first that counts, an attention sink, are cut off."""
        first = int(sample.kept.any(0).argmax())
        return cls(slice(first, None), sample.kept[:, first:], sample.group, directions)


def logit_distances(sample: Sample) -> Int[np.ndarray, " distance"]:
    """The distances of LOGIT_DISTANCES that a window has pairs for."""
    return np.array([distance for distance in LOGIT_DISTANCES if distance <= sample.length // 2])


@torch.inference_mode()
def block_heads(view: View, block: int, calls: Sequence[AttentionCall]) -> BlockHeads:
    """Everything of a block's heads from its inputs: the model's own weights, norms, rotation, mask and softmax."""
    attention = view.blocks[block].get_submodule(view.known_family("attention").attention)
    scale = view.heads(block)
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ("query", "key", "value", "output")}
    total = torch.zeros(())
    for call in calls:
        query, key, value = query_key_value(view, block, call.input.to(view.dtype), None)
        turned, met = (rotate(attention, part, call.rotation) for part in (query, key))
        ours = replace(call, query=turned, key=met, value=value, scaling=scale.scale, softcap=scale.softcap)
        pattern = probabilities(ours)
        total = total + pattern.sum(0).cpu()
        mixed = einsum(pattern, value.float(), "context head query key, context head key d -> context head query d")
        for name, part in (("query", query), ("key", key), ("value", value), ("output", mixed)):
            parts[name].append(part.float().cpu().transpose(0, 1).numpy())
    whole = {name: np.concatenate(each, axis=1) for name, each in parts.items()}
    mean = (total / whole["query"].shape[1]).numpy()
    return BlockHeads(**whole, fixed=np.matmul(mean[:, None], whole["value"]))


def distance_forms(
    view: View, block: int, distances: Int[np.ndarray, " distance"]
) -> Float[np.ndarray, "distance d_head d_head_"]:
    """scale · R_δᵀR_0 for each distance: the matrix between a query and a key, both before rotation."""
    scale, width = view.heads(block).scale, view.d_head
    rotation = rotation_at(view, block, distances.tolist())
    unit = torch.eye(width, dtype=torch.float32, device=view.device)
    if rotation is None:
        return np.broadcast_to(scale * np.eye(width), (len(distances), width, width))
    attention = view.blocks[block].get_submodule(view.known_family("attention").attention)
    each = unit[None, :, None].expand(1, width, len(distances), width)  # every unit vector stands at every position
    turned = rotate(attention, each, rotation)[0].double().cpu().numpy()
    return scale * np.einsum("mdi,nei->demn", turned, turned)[:, 0]


def logits_of(
    parts: BlockHeads, forms: np.ndarray, distances: Int[np.ndarray, " distance"], under: Under
) -> list[LogitMoments]:
    """Predicted and measured logits of every head."""

    def one(head: int) -> LogitMoments:
        query, key = (part[head][:, under.at] for part in (parts.query, parts.key))
        return logit_moments(query, key, under.kept, under.group, forms, distances)

    return side_by_side(one, range(len(parts.query)))


def mixed_of(parts: BlockHeads, under: Under) -> list[tuple[MixingGap, float]]:
    """Real against fixed weights of every head, in its values' leading directions; and the values' own information."""

    def one(head: int) -> tuple[MixingGap, float]:
        value, output, fixed = (part[head][:, under.at] for part in (parts.value, parts.output, parts.fixed))
        directions = leading(value, under.kept, under.directions)[0]
        gap = mixing_gap(output @ directions.T, fixed @ directions.T, under.kept, under.group)
        own = value @ directions.T
        return gap, float(debiased(information_sets(own, own, under.kept, under.group, NEIGHBOUR)).value)

    return side_by_side(one, range(len(parts.value)))


def leading(
    vectors: Float[np.ndarray, "context position d_model"], kept: Bool[np.ndarray, "context position"], count: int
) -> tuple[Float[np.ndarray, "mode d_model"], float]:
    """The directions of largest variance of the counted vectors, and their share of it."""
    cloud = vectors[kept]
    centred = cloud - cloud.mean(0)
    covariance = (centred.T @ centred).astype(np.float64)
    size = len(covariance)
    values, found = eigh(covariance, subset_by_index=(size - count, size - 1))
    return found[:, ::-1].T.astype(np.float32), float(values.sum() / np.trace(covariance))


def input_directions(view: View, sample: Sample) -> int:
    """How many directions of the inputs count: twice a head's rank, where there are samples for them."""
    left = len(sample.tokens) - int(np.bincount(sample.group).max()) - 1
    return max(1, min(2 * view.d_head, view.d_model, left * (sample.length - NEIGHBOUR) // 8))


def kept_of(view: View, block: int, calls: Sequence[AttentionCall], under: Under, count: int) -> dict[str, Any]:
    """What the maps of every head keep of the mutual information of neighbouring inputs."""
    inputs = torch.cat([call.input for call in calls]).cpu().numpy()[:, under.at]
    directions, share = leading(inputs, under.kept, count)
    states = inputs @ directions.T
    pairs = pair_scatter(states, states, under.kept, under.group, NEIGHBOUR)
    heads = view.heads(block)
    maps = {
        name: np.einsum("hdm,rd->hmr", W.float().cpu().numpy(), directions).astype(np.float64)
        for name, W in (("query", heads.W_Q), ("key", heads.W_K), ("value", heads.W_V))
    }
    before = debiased(information_of(pairs, count))
    found = side_by_side(lambda head: head_kept(pairs, maps, head), range(view.n_heads))
    return {
        "kept": np.array([[each.kept for each in row] for row in found]),
        "kept_se": np.array([[each.kept_se for each in row] for row in found]),
        "kept_random": kept_at_random(pairs, view.d_head),
        "information_input": float(before.value),
        "information_input_se": float(before.se),
        "input_share": share,
    }


def head_kept(pairs: PairScatter, maps: dict[str, np.ndarray], head: int) -> list[KeptShare]:
    """The shares of PROJECTIONS for one head; the earlier token is the key's."""
    query, key, value = (maps[name][head] for name in ("query", "key", "value"))
    couples = dict(zip(PROJECTIONS, ((query, query), (key, key), (value, value), (key, query)), strict=True))
    return [kept_share(pairs, *couple) for couple in couples.values()]

"""The heads of a block under the lens: predicted and measured logits, what maps keep, what fixed weights miss."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.linalg import eigh

from armillary.measures.errors.leave_out import debiased
from armillary.measures.gaussian.distance import information_of, information_sets, pair_scatter
from armillary.measures.gaussian.heads import MixingGap, kept_at_random, kept_share, mixing_gap
from armillary.measures.gaussian.logits import LogitMoments, logit_moments
from armillary.models.attention import query_key_value, rotate
from armillary.models.parts import rotation_at
from armillary.models.view import View
from armillary.models.weights import Heads
from armillary.probes.lens.reading import BlockReading
from armillary.probes.lens.sample import Sample
from armillary.system.threads import side_by_side

LOGIT_DISTANCES = (0, 1, 8, 32)
"""Distances of query and key at which logits are looked at, those that fit into half of a window."""

NEIGHBOUR = 1
"""How far apart the tokens are whose mutual information maps and mixing are judged by."""

BATCH = 8
"""Windows whose queries and keys are made together."""

Values = Float[np.ndarray, "head context position d_head"]
Along = Float[np.ndarray, "head context position mode"]


@dataclass(frozen=True)
class BlockHeads:
    """Queries and keys before rotation; values, outputs by real and by fixed weights along the values' directions."""

    query: Values
    key: Values
    value: Along
    output: Along
    fixed: Along


@dataclass(frozen=True)
class Under:
    """What is the same for all heads: which positions count, and the groups of documents."""

    at: slice
    kept: Bool[np.ndarray, "context position"]
    group: Int[np.ndarray, " context"]

    @classmethod
    def of(cls, sample: Sample) -> "Under":
        """Positions before the first that counts, an attention sink, are cut off."""
        first = int(sample.kept.any(0).argmax())
        return cls(slice(first, None), sample.kept[:, first:], sample.group)


def logit_distances(sample: Sample) -> Int[np.ndarray, " distance"]:
    """The distances of LOGIT_DISTANCES that a window has pairs for."""
    return np.array([distance for distance in LOGIT_DISTANCES if distance <= sample.length // 2])


@torch.inference_mode()
def block_heads(view: View, block: int, read: BlockReading) -> BlockHeads:
    """Queries and keys of a block's inputs by the model's own weights and norms; values and outputs as they were."""
    parts: dict[str, list[np.ndarray]] = {"query": [], "key": []}
    for x in read.inputs.split(BATCH):
        query, key, _ = query_key_value(view, block, x.to(view.device, view.dtype), None)
        for name, part in (("query", query), ("key", key)):
            parts[name].append(part.float().cpu().transpose(0, 1).numpy())
    value, mean = read.values.numpy(), read.pattern.numpy() / len(read.inputs)
    whole = {name: np.concatenate(each, axis=1) for name, each in parts.items()}
    return BlockHeads(**whole, value=value, output=read.outputs.numpy(), fixed=np.matmul(mean[:, None], value))


def distance_forms(
    view: View, block: int, scale: float, distances: Int[np.ndarray, " distance"]
) -> Float[np.ndarray, "distance d_head d_head_"]:
    """scale · R_δᵀR_0 for each distance: the matrix between a query and a key, both before rotation."""
    width = view.d_head
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
        gap = mixing_gap(output, fixed, under.kept, under.group)
        return gap, float(debiased(information_sets(value, value, under.kept, under.group, NEIGHBOUR)).value)

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


def kept_of(
    heads: Heads, inputs: Float[np.ndarray, "context position d_model"], under: Under, count: int
) -> dict[str, Any]:
    """What the maps of every head keep of the mutual information of neighbouring inputs."""
    counted = inputs[:, under.at]
    directions, share = leading(counted, under.kept, count)
    states = counted @ directions.T
    pairs = pair_scatter(states, states, under.kept, under.group, NEIGHBOUR)
    # Heads of one group share keys and values: their maps are looked at once.
    shared = [heads.kv_head.index(number) for number in sorted(set(heads.kv_head))]
    query, key, value = (
        np.einsum("hdm,rd->hmr", W.float().cpu().numpy(), directions).astype(np.float64)
        for W in (heads.W_Q, heads.W_K[shared], heads.W_V[shared])
    )

    def shares(couple: tuple[np.ndarray, np.ndarray]) -> float:
        return kept_share(pairs, *couple)

    of_query, of_key, of_value = (
        side_by_side(shares, list(zip(maps, maps, strict=True))) for maps in (query, key, value)
    )
    crossed = side_by_side(shares, [(key[number], own) for number, own in zip(heads.kv_head, query, strict=True)])
    found = [
        [of_query[head], of_key[number], of_value[number], crossed[head]] for head, number in enumerate(heads.kv_head)
    ]
    return {
        "kept": np.array(found),
        "kept_random": kept_at_random(pairs, query.shape[1]),
        "information_input": float(debiased(information_of(pairs, count)).value),
        "input_share": share,
    }

"""What one attention map of one text shows: spread, strongest pairs, shots, and how far angles tell it."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import entr

_ROUNDING = 1e-24


class StrongestPairs(NamedTuple):
    """Queries, the keys that they attend to most, and the attention, the largest first."""

    query: Int[np.ndarray, "pair"]
    key: Int[np.ndarray, "pair"]
    mass: Float[np.ndarray, "pair"]


class ShotMass(NamedTuple):
    """Where the tokens of worked examples look: at themselves, their own example, other examples, anything else."""

    diagonal: float
    within: float
    across: float
    outside: float


def row_entropy(pattern: Float[np.ndarray, "query key"]) -> Float[np.ndarray, "query"]:
    """−Σ p log p of each row, in nats; 0 where one key has everything."""
    return entr(pattern.astype(np.float64, copy=False)).sum(1)


def total_variation(
    one: Float[np.ndarray, "block head query key"], other: Float[np.ndarray, "block head query key"]
) -> Float[np.ndarray, "block head query"]:
    """½ Σ |p − q| of each row of two maps: the attention that moved, 0 to 1."""
    return np.asarray(np.abs(one - other).sum(-1) / 2)


def head_mean(
    pattern: Float[np.ndarray, "head query key"], weight: Float[np.ndarray, "head query"]
) -> Float[np.ndarray, "query key"]:
    """Mean map over heads, each row weighted by `weight` (ones, or the norm of the head's output there); rows sum to 1.

    A query whose weights are all zero gets the plain mean.
    """
    total = weight.sum(0)
    shares = np.where(total > 0, weight, 1) / np.where(total > 0, total, len(weight))
    return np.einsum("hqk,hq->qk", pattern, shares)


def strongest_pairs(pattern: Float[np.ndarray, "query key"], count: int = 3) -> StrongestPairs:
    """The pairs of different tokens with the most attention. Position 0, where many heads park it, is left out."""
    shown = pattern.copy()
    np.fill_diagonal(shown, 0)
    shown[:, 0] = 0
    best = np.argsort(-shown, axis=None, kind="stable")[:count]
    query, key = np.unravel_index(best, shown.shape)
    there = shown[query, key] > 0
    return StrongestPairs(query[there], key[there], shown[query, key][there])


def angle_correlation(
    states: Float[np.ndarray, "position d_model"],
    pattern: Float[np.ndarray, "query key"],
    allowed: Bool[np.ndarray, "query key"],
) -> float:
    """Correlation of the cosine of two states with the attention between them, within queries; in [−1, 1].

    Over pairs of different tokens that may attend, position 0 left out; both sides less their mean over the keys of the
    query, since a row's attention adds up to 1 whatever its angles. NaN where nothing varies. Neighbouring pairs share
    tokens and are not independent: no error is given; the random-weight control is the null.
    """
    unit = states / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    used = allowed & ~np.eye(len(pattern), dtype=bool)
    used[:, 0] = used[0] = False
    cosine, mass = (_centred(side.astype(np.float64), used) for side in (unit @ unit.T, pattern))
    squares = np.sum(cosine**2), np.sum(mass**2)
    # What rounding leaves of equal numbers is no variation.
    if squares[0] < _ROUNDING * used.sum() or squares[1] < _ROUNDING * np.sum(pattern[used].astype(np.float64) ** 2):
        return float("nan")
    return float(np.sum(cosine * mass) / np.sqrt(squares[0] * squares[1])) if min(squares) > 0 else float("nan")


def _centred(values: Float[np.ndarray, "query key"], used: Bool[np.ndarray, "query key"]) -> np.ndarray:
    count = np.maximum(used.sum(1, keepdims=True), 1)
    return np.where(used, values - np.where(used, values, 0).sum(1, keepdims=True) / count, 0)


def shot_mass(pattern: Float[np.ndarray, "query key"], shot: Int[np.ndarray, "position"]) -> ShotMass:
    """Attention from tokens of examples, mean over them: to itself, its example, other examples, outside; adds up to 1.

    `shot` numbers the example of each token, −1 for what belongs to none (instruction, BOS, the question).
    """
    inside = shot >= 0
    if not inside.any():
        return ShotMass(*[float("nan")] * 4)
    rows = pattern[inside].astype(np.float64)
    same = shot[inside][:, None] == shot
    itself = np.arange(len(shot)) == np.flatnonzero(inside)[:, None]
    kinds = (itself, same & ~itself, ~same & inside, ~inside[None] & np.ones_like(same))
    return ShotMass(*(float(np.where(kind, rows, 0).sum(1).mean()) for kind in kinds))

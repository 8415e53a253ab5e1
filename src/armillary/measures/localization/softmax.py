"""The softmax, its tangent at 0, and the tangent clipped to [0, 1] that Bao et al. put in its place (figure 1)."""

import numpy as np
from jaxtyping import Float

Scores = Float[np.ndarray, "*batch key"]


def softmax(scores: Scores) -> Scores:
    """exp ω_i / Σ exp ω_j, shares that add up to 1."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def entropy(shares: Scores) -> Float[np.ndarray, "*batch"]:
    """−Σ p log p in nats, 0 to log T."""
    return np.asarray(-np.sum(shares * np.log(np.where(shares > 0, shares, 1)), axis=-1))


def shares_divergence(one: Scores, other: Scores) -> Float[np.ndarray, "*batch"]:
    """Jensen–Shannon divergence of two distributions over keys, in nats, 0 to log 2; its root is a metric."""
    return np.asarray(entropy((one + other) / 2) - (entropy(one) + entropy(other)) / 2)


def tangent(scores: Scores) -> Scores:
    """g_i = 1/T + (ω_i − mean ω)/T, T the number of keys: the softmax to first order at ω = 0; adds up to 1."""
    return np.asarray((1 + scores - scores.mean(axis=-1, keepdims=True)) / scores.shape[-1])


def piecewise_softmax(scores: Scores) -> Scores:
    """S̃ = clip(g, 0, 1), each from 0 to 1. Not a distribution: clipping at 0 adds mass, clipping at 1 removes some."""
    return np.asarray(np.clip(tangent(scores), 0, 1))


def piecewise_distance(scores: Scores) -> Float[np.ndarray, "*batch"]:
    """½ Σ |softmax − S̃|: total variation, above 1 where S̃ holds much more mass than 1.

    For scores of standard deviation s it is s²/4 E|z² − 1| = 0.242 s² while s is small, and about 0.18 at s = 1: S̃
    stands for the softmax only where attention is nearly uniform.
    """
    return np.asarray(np.abs(softmax(scores) - piecewise_softmax(scores)).sum(axis=-1) / 2)

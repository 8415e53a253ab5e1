"""Assumption 1 of Bao et al.: tokens walk at random, and what that makes of the score of each position.

x₁ ~ N(0, Σ), x_{t+1} ~ N(x_t, Σ), hence E x_i x_jᵀ = min(i, j) Σ. The query is the last of T tokens, its scores are
ω_i = x_iᵀ M x_T with M = W_QK (the score's scale counted), and g_i = 1/T + (ω_i − mean ω)/T is the softmax's tangent
at 0. W = MΣ. M and Mᵀ give g_i the same law: x_i − mean x and x_T enter it alike.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

Values = float | Float[np.ndarray, "*head"]
Square = Float[np.ndarray, "*head d_head d_head_"]
Positions = Int[np.ndarray, "position"]


class HeadCovariances(NamedTuple):
    """Covariances of a head's queries and keys for inputs of covariance Σ; `cross` has keys as rows."""

    query_covariance: Square
    key_covariance: Square
    cross_covariance: Square


class Traces(NamedTuple):
    """tr W, tr W² = tr(MΣMΣ), and energy = tr(MΣMᵀΣ) ≥ |tr W²|, equal to it for symmetric M."""

    trace: Float[np.ndarray, "*head"]
    trace_square: Float[np.ndarray, "*head"]
    energy: Float[np.ndarray, "*head"]


class XiEta(NamedTuple):
    """ξ = tr W/√(tr W²) and η = √(tr W²)/λ."""

    xi: Float[np.ndarray, "*head"]
    eta: Float[np.ndarray, "*head"]


class Moments(NamedTuple):
    """Mean and variance of g_i over walks."""

    mean: Float[np.ndarray, "*head position"]
    variance: Float[np.ndarray, "*head position"]


def head_covariances(
    W_Q: Float[np.ndarray, "*head d_model d_head"],
    W_K: Float[np.ndarray, "*head d_model d_head"],
    covariance: Float[np.ndarray, "d_model d_model_"],
) -> HeadCovariances:
    """W_QᵀΣW_Q, W_KᵀΣW_K and W_KᵀΣW_Q, in squared units of queries and keys; the scale counted in W_Q, W_K or both.

    All that the random walk says about a head M = W_Q W_Kᵀ follows from these three matrices of d_head². Where Σ is a
    sample's, the covariances of its queries and keys are the same and cost less.
    """
    query, key = W_Q.astype(np.float64, copy=False), W_K.astype(np.float64, copy=False)
    moved = covariance.astype(np.float64, copy=False) @ query
    query_covariance = query.swapaxes(-1, -2) @ moved
    cross_covariance = key.swapaxes(-1, -2) @ moved
    return HeadCovariances(query_covariance, key.swapaxes(-1, -2) @ (covariance @ key), cross_covariance)


def traces(query_covariance: Square, key_covariance: Square, cross_covariance: Square) -> Traces:
    """Traces of W = W_QK Σ, scale counted, from d_head × d_head matrices alone."""
    trace = np.einsum("...aa->...", cross_covariance)
    trace_square = np.einsum("...ab,...ba->...", cross_covariance, cross_covariance)
    energy = np.einsum("...ab,...ba->...", query_covariance, key_covariance)
    return Traces(np.asarray(trace), np.asarray(trace_square), np.asarray(energy))


def xi_eta(trace: Values, trace_square: Values, temperature: float = 1.0) -> XiEta:
    """ξ = tr W/√(tr W²), η = √(tr W²)/λ, both without unit; W holds the scale already unless a temperature λ is given.

    NaN where tr W² ≤ 0. For symmetric M that is W = 0 alone. For asymmetric M, W has complex eigenvalues and tr W² may
    be negative (a rotation of the plane: −2): the published ξ and η do not exist there, `moments` and the exact law do.
    """
    square = np.asarray(trace_square, dtype=np.float64)
    root = np.sqrt(np.where(square > 0, square, np.nan))
    return XiEta(np.asarray(trace / root), np.asarray(root / temperature))


def offsets(length: int, positions: Positions | None = None) -> Float[np.ndarray, "position"]:
    """u_i = (2i − T − 1)/(2T), in units of the length T: the covariance of (x_i − mean x)/T with x_T in units of Σ.

    Positions count from 1 to T, as in the document; all of them if none are given.
    """
    if length < 1:
        raise ValueError(f"expected a length of at least 1, got {length}: count the tokens that the last query sees")
    chosen = np.arange(1, length + 1) if positions is None else positions
    if len(chosen) and (chosen.min() < 1 or chosen.max() > length):
        raise ValueError(
            f"expected positions from 1 to {length}, got {chosen.min()} to {chosen.max()}: count them from 1, the "
            "query last"
        )
    return np.asarray((2 * chosen - length - 1) / (2 * length))


def spread(length: int) -> float:
    """κ² = (T² − 1)/(12 T²): the part of the variance, in units of energy, that every position has."""
    return (length**2 - 1) / (12 * length**2)


def moments(
    trace: Values, trace_square: Values, energy: Values, length: int, positions: Positions | None = None
) -> Moments:
    """Mean and variance of g_i, a share of attention; exact for every T, every Σ and every M, symmetric or not.

    E g_i = u_i tr W + 1/T and Var g_i = (u_i² + κ²) energy + u_i² tr W². By Isserlis' theorem, with
    Var (x_i − mean x)/T = c_i Σ, c_i T = u_i² + κ².
    """
    u = offsets(length, positions)
    of_position = u**2 + spread(length)
    mean = _by_position(trace) * u + 1 / length
    return Moments(mean, _by_position(energy) * of_position + _by_position(trace_square) * u**2)


def published_moments(trace: Values, trace_square: Values, length: int, positions: Positions | None = None) -> Moments:
    """Lemma 1 as published: mean (θ − 1/2) tr W, variance (2θ² + 7/12) tr W², θ = i/T; NaN where tr W² ≤ 0.

    The mean is right but for terms of order 1/T. The variance is not: a sum in the proof lacks 2T²i, and 2θ² should
    read 2θ² − 2θ. It is 13 times the true one in the middle at T = 40.
    """
    theta = offsets(length, positions) + (length + 1) / (2 * length)
    square = _by_position(trace_square)
    variance = np.where(square > 0, square, np.nan) * (2 * theta**2 + 7 / 12)
    return Moments(_by_position(trace) * (theta - 1 / 2), variance)


def _by_position(values: Values) -> Float[np.ndarray, "*head 1"]:
    return np.asarray(values, dtype=np.float64)[..., None]

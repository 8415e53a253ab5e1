"""The signal propagation probability ρ_i = P(0 ≤ g_i ≤ 1): exact, Gaussian, as published, and measured."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

from armillary.measures.localization.softmax import tangent
from armillary.measures.localization.tails import upper_tail
from armillary.measures.localization.walk import Positions, Values, offsets, published_moments, spread

SINGULAR = 1e-13
"""Variances of queries or keys below this share of the largest are rounding."""

Matrix = Float[np.ndarray, "d_head d_head_"]
Weights = Float[np.ndarray, "position mode"]


class Shares(NamedTuple):
    """P(g_i < 0), ρ_i = P(0 ≤ g_i ≤ 1) and P(g_i > 1), which add up to 1."""

    below: Float[np.ndarray, "*head position"]
    rho: Float[np.ndarray, "*head position"]
    above: Float[np.ndarray, "*head position"]


class RhoGroups(NamedTuple):
    """Mean share inside [0, 1] by group of documents, and how many contexts each holds, as `group_mean` takes them."""

    rho_groups: Float[np.ndarray, "group key"]
    contexts: Int[np.ndarray, "group"]


def exact_shares(
    query_covariance: Matrix,
    key_covariance: Matrix,
    cross_covariance: Matrix,
    length: int,
    positions: Positions | None = None,
) -> Shares:
    """Probabilities of g_i for any head, symmetric or not, from d_head × d_head matrices; exact to about 1e-12.

    A head with W = 0 has g_i = 1/T always, so ρ_i = 1.
    """
    return shares_of(law_weights(query_covariance, key_covariance, cross_covariance, length, positions), length)


def symmetric_shares(eigenvalues: Float[np.ndarray, "mode"], length: int, positions: Positions | None = None) -> Shares:
    """Probabilities of g_i for symmetric W_QK, from the eigenvalues of W = W_QK Σ, which are real; W = 0 gives ρ_i = 1.

    The characteristic function of g_i − 1/T is Π_k [(1 − i t w_k u_i)² + t² w_k² (u_i² + κ²)]^{−1/2}: two weights
    w_k (u_i ± √(u_i² + κ²)) for each eigenvalue.
    """
    u = offsets(length, positions)[:, None]
    root = np.sqrt(u**2 + spread(length))
    weights = np.concatenate([(u + root) * eigenvalues, (u - root) * eigenvalues], axis=1)
    return shares_of(weights, length)


def law_weights(
    query_covariance: Matrix,
    key_covariance: Matrix,
    cross_covariance: Matrix,
    length: int,
    positions: Positions | None = None,
) -> Weights:
    """ν_k with g_i − 1/T = ½ Σ_k ν_k z_k², z_k independent standard normal: 2 d_head weights for each position.

    g_i − 1/T = pᵀMq with p and q normal of covariances (c_i Σ, TΣ) and u_i Σ between them. Its characteristic function
    is det(I − i t N)^{−1/2}; with M = W_Q W_Kᵀ and Sylvester's identity N is, up to similarity and with s² = u² + κ²,

        N = [[u B, s K], [s Q, u Bᵀ]] = swap · [[s Q, u Bᵀ], [u B, s K]],

    Q, K, B the covariances of queries, of keys, and between keys and queries. The right factor is positive
    semidefinite, so the ν are real. In the canonical variables of queries and keys it is diagonal for all positions at
    once, s ± u cos, and each position takes the eigenvalues of one symmetric matrix; −u has those of u negated. NaN
    where a covariance holds NaN or infinity.
    """
    u = offsets(length, positions)
    if not all(np.isfinite(each).all() for each in (query_covariance, key_covariance, cross_covariance)):
        return np.full((len(u), 2 * len(query_covariance)), np.nan)
    core, cosines = _canonical(query_covariance, key_covariance, cross_covariance)
    distinct, place = np.unique(np.abs(u), return_inverse=True)
    root = np.sqrt(distinct**2 + spread(length))
    weights = np.empty((len(distinct), len(core)))
    for row, (offset, size) in enumerate(zip(distinct, root, strict=True)):
        diagonal = np.sqrt(np.concatenate([size + offset * cosines, size - offset * cosines]))
        weights[row] = np.linalg.eigvalsh(diagonal[:, None] * core * diagonal)
    return np.asarray(np.where(u[:, None] < 0, -1.0, 1.0) * weights[place])


def shares_of(weights: Weights, length: int) -> Shares:
    """Probabilities of g_i = 1/T + ½ Σ_k ν_k z_k², to about 1e-12."""
    if length == 1:
        certain = np.ones(len(weights))
        return Shares(0 * certain, certain, 0 * certain)
    below, above = upper_tail(-weights, 1 / length), upper_tail(weights, 1 - 1 / length)
    return Shares(below, np.maximum(1 - below - above, 0), above)


def gaussian_shares(mean: Float[np.ndarray, "*head position"], variance: Float[np.ndarray, "*head position"]) -> Shares:
    """Probabilities of a normal g_i with these moments, `walk.moments` for the exact ones; a point mass at variance 0.

    Good where many modes of W count: the excess kurtosis is of the order tr W⁴/(tr W²)².
    """
    scale = np.sqrt(np.where(variance > 0, variance, np.nan))
    point = variance == 0
    below = np.where(point, mean < 0, ndtr(-mean / scale))
    above = np.where(point, mean > 1, ndtr((mean - 1) / scale))
    return Shares(below, np.where(point, (mean >= 0) & (mean <= 1), _between(mean, scale)), above)


def published_rho(
    trace: Values, trace_square: Values, length: int, positions: Positions | None = None
) -> Float[np.ndarray, "*head position"]:
    """ρ_i of equation (6) as published: normal, with the moments of Lemma 1; NaN where tr W² ≤ 0.

    Beside the wrong variance it lacks the mean's 1/T, which counts as much at T = 40.
    """
    return gaussian_shares(*published_moments(trace, trace_square, length, positions)).rho


def measured_shares(scores: Float[np.ndarray, "context key"]) -> Shares:
    """Shares of contexts with g_i below 0, in [0, 1] and above 1; scores of the last query, scale counted."""
    values = _finite_tangent(scores)
    below, above = (values < 0).mean(axis=0), (values > 1).mean(axis=0)
    return Shares(below, np.mean((values >= 0) & (values <= 1), axis=0), above)


def measured_groups(scores: Float[np.ndarray, "context key"], group: Int[np.ndarray, "context"]) -> RhoGroups:
    """Share of contexts with 0 ≤ g_i ≤ 1 within each group of documents, groups in the order of their numbers."""
    values = _finite_tangent(scores)
    inside = ((values >= 0) & (values <= 1)).astype(np.float64)
    _, place, contexts = np.unique(group, return_inverse=True, return_counts=True)
    sums = np.zeros((len(contexts), scores.shape[1]))
    np.add.at(sums, place, inside)
    return RhoGroups(sums / contexts[:, None], contexts)


def _between(
    mean: Float[np.ndarray, "*head position"], scale: Float[np.ndarray, "*head position"]
) -> Float[np.ndarray, "*head position"]:
    """P(0 ≤ g ≤ 1), both ends seen from the nearer side: no digits are lost where the mean is far outside."""
    turned = np.where(mean > 0.5, 1 - mean, mean)
    return np.asarray(ndtr((1 - turned) / scale) - ndtr(-turned / scale))


def _finite_tangent(scores: Float[np.ndarray, "context key"]) -> Float[np.ndarray, "context key"]:
    if not np.isfinite(scores).all():
        raise ValueError(
            "expected finite scores, got NaN or infinity: take them before the mask, of a query that sees every key"
        )
    return tangent(scores.astype(np.float64, copy=False))


def _canonical(
    query_covariance: Matrix, key_covariance: Matrix, cross_covariance: Matrix
) -> tuple[Float[np.ndarray, "mode mode_"], Float[np.ndarray, "d_head"]]:
    """The symmetric matrix that all positions share, and the canonical correlations of queries and keys."""
    query_root, query_inverse = _roots(query_covariance)
    key_root, key_inverse = _roots(key_covariance)
    left, cosines, right = np.linalg.svd(query_inverse @ cross_covariance.T @ key_inverse)
    queries, keys = query_root @ left, key_root @ right.T
    upper = np.concatenate([queries, queries], axis=1) / np.sqrt(2)
    lower = np.concatenate([keys, -keys], axis=1) / np.sqrt(2)
    product = upper.T @ lower
    return product + product.T, np.minimum(cosines, 1.0)  # a correlation passes 1 by rounding only


def _roots(covariance: Matrix) -> tuple[Matrix, Matrix]:
    """The square root of a covariance and its pseudo-inverse, symmetric both."""
    variances, directions = np.linalg.eigh(covariance.astype(np.float64, copy=False))
    kept = variances > SINGULAR * variances.max(initial=0.0)
    root = np.sqrt(np.where(kept, variances, 0))
    inverse = np.where(kept, 1 / np.sqrt(np.where(kept, variances, 1)), 0)
    return (directions * root) @ directions.T, (directions * inverse) @ directions.T

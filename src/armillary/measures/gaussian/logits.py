"""Logits of one head as the bilinear form of Gaussian queries and keys: what that predicts, and what is there.

The predicted mean needs no normal law; the variance does, since it holds products of four numbers. So the ratio of
measured and predicted variance is what the Gaussian assumption costs.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from armillary.measures.errors.jackknife import effective_groups
from armillary.measures.errors.leave_out import count_of, debiased
from armillary.measures.gaussian.bilinear import pooled_moments, pooled_shape, variance_of_means
from armillary.measures.gaussian.gaussianity import Shape, detectable_effect, shape_of

Vectors = Float[np.ndarray, "context position d_head"]
Kept = Bool[np.ndarray, "context position"]
PerDistance = Float[np.ndarray, " distance"]


class LogitMoments(NamedTuple):
    """A head's logits by distance of query and key: predicted and measured, with errors over documents.

    Variances are those at given positions, over windows, averaged over positions. `log_ratio` is that of measured over
    predicted variance, and `log_ratio_detectable` what a test of it would find in four corpora of five. Skewness and
    kurtosis rest on few large logits and no error of theirs covers: low and high are those without one group of
    documents. `mean_predicted` needs no normal law and checks the reading.
    """

    mean: PerDistance
    mean_predicted: PerDistance
    variance: PerDistance
    variance_predicted: PerDistance
    variance_independent: PerDistance
    log_ratio: PerDistance
    log_ratio_se: PerDistance
    log_ratio_detectable: PerDistance
    skewness: PerDistance
    skewness_low: PerDistance
    skewness_high: PerDistance
    excess_kurtosis: PerDistance
    excess_kurtosis_low: PerDistance
    excess_kurtosis_high: PerDistance
    excess_predicted: PerDistance


class _Side(NamedTuple):
    """Queries or keys without the tokens left out, and their sums at each place in every set of documents."""

    vectors: Vectors
    sums: Float[np.ndarray, "set place d_head"]


def logit_moments(
    query: Vectors,
    key: Vectors,
    kept: Kept,
    group: Int[np.ndarray, " context"],
    forms: Float[np.ndarray, "distance d_head d_head_"],
    distances: Int[np.ndarray, " distance"],
) -> LogitMoments:
    """Moments of qᵀCk, q that many tokens after k, from queries and keys before rotation and C = scale · RᵀR′.

    Queries and keys count as stationary about their means at each position: one covariance of queries, one of keys, one
    across for each distance. Every set of documents has means of its own.
    """
    groups = [group == number for number in range(count_of(group))]
    sides = [_side(part, kept, groups) for part in (query, key)]
    own = [_covariance(side, side, _in_sets(_counts(kept, groups)), groups) for side in sides]
    rows = []
    for form, distance in zip(forms, distances, strict=True):
        late, early = slice(int(distance), None), slice(0, query.shape[1] - int(distance))
        mask = kept[:, late] & kept[:, early]
        logits = np.asarray(np.sum((query[:, late] @ form.astype(query.dtype)) * key[:, early], axis=2))
        # With no token left out the sums of pairs are those of tokens; else each distance has pairs of its own.
        whole = bool(mask.all())
        queries, keys = (
            _Side(side.vectors[:, at], side.sums[:, at]) if whole else _side(side.vectors[:, at], mask, groups)
            for side, at in zip(sides, (late, early), strict=True)
        )
        count = _in_sets(_counts(mask, groups))
        means = tuple(
            _between(left.sums, right.sums, count) / count.sum(1)[:, None, None]
            for left, right in ((queries, queries), (keys, keys), (keys, queries))
        )
        across = _covariance(keys, queries, count, groups)
        places = tuple(side.sums[0] / np.maximum(count[0], 1)[:, None] for side in (queries, keys))
        rows.append(_row(form, (own[0], own[1], across), means, places, (logits.astype(np.float64), mask), groups))
    return LogitMoments(*(np.array(column) for column in zip(*rows, strict=True)))


def _row(
    form: Float[np.ndarray, "d_head d_head_"],
    covariances: tuple[np.ndarray, np.ndarray, np.ndarray],
    means: tuple[np.ndarray, np.ndarray, np.ndarray],
    places: tuple[np.ndarray, ...],
    logits: tuple[np.ndarray, np.ndarray],
    groups: Sequence[np.ndarray],
) -> tuple[float, ...]:
    """One row of LogitMoments."""
    predicted = pooled_moments(form, covariances, means)
    sizes = np.array([at.sum() for at in groups], dtype=np.float64)
    variance, seen = _measured(*logits, groups)
    ratio = debiased(np.log(variance / predicted.variance))
    whole, centres = (_joint(*(part[0] for part in parts)) for parts in (covariances, means))
    # Where places differ in variance, logits pooled over them have heavier tails than at any one of them.
    first = (covariances[0][0], covariances[1][0], covariances[2][0])
    uneven = np.var(variance_of_means(form, first, *places)) / predicted.variance[0] ** 2
    return (
        *(float(logits[0][logits[1]].mean()), float(predicted.mean[0]), float(variance[0])),
        *(float(predicted.variance[0]), float(predicted.variance_independent[0])),
        *(float(ratio.value), float(ratio.se), detectable_effect(float(ratio.se), effective_groups(sizes) - 1)),
        *_with_range(seen.skewness),
        *_with_range(seen.excess_kurtosis),
        pooled_shape(form.astype(np.float64), whole, centres).excess_kurtosis + 3 * float(uneven),
    )


def _with_range(sets: Float[np.ndarray, " set"]) -> tuple[float, float, float]:
    return float(sets[0]), float(sets[1:].min()), float(sets[1:].max())


def _joint(query: np.ndarray, key: np.ndarray, across: np.ndarray) -> Float[np.ndarray, "both both_"]:
    return np.block([[query, across.T], [across, key]])


def _measured(
    logits: Float[np.ndarray, "context place"], mask: Bool[np.ndarray, "context place"], groups: Sequence[np.ndarray]
) -> tuple[Float[np.ndarray, " set"], Shape]:
    """Variance, skewness and excess kurtosis of the logits about their mean at each place, in every set."""
    centred = (logits - np.sum(logits * mask, axis=0) / np.maximum(mask.sum(0), 1)) * mask
    powers = [mask.astype(np.float64), *(centred**power for power in (1, 2, 3, 4))]
    count, first, second, third, fourth = (_in_sets(np.stack([part[at].sum(0) for at in groups])) for part in powers)
    mean = first / np.maximum(count, 1)
    total = count.sum(1)
    about = np.sum(second - mean * first, axis=1)
    skew = np.sum(third - 3 * mean * second + 2 * mean**2 * first, axis=1)
    peak = np.sum(fourth - 4 * mean * third + 6 * mean**2 * second - 3 * mean**3 * first, axis=1)
    return about / np.sum(np.maximum(count - 1, 0), axis=1), shape_of(about / total, skew / total, peak / total)


def _side(vectors: Vectors, mask: Kept, groups: Sequence[np.ndarray]) -> _Side:
    present = vectors if mask.all() else vectors * mask[..., None]
    return _Side(present, _in_sets(np.stack([present[at].sum(0, dtype=np.float64) for at in groups])))


def _counts(mask: Kept, groups: Sequence[np.ndarray]) -> Float[np.ndarray, "group place"]:
    return np.stack([mask[at].sum(0) for at in groups]).astype(np.float64)


def _covariance(
    left: _Side, right: _Side, count: Float[np.ndarray, "set place"], groups: Sequence[np.ndarray]
) -> Float[np.ndarray, "set d_head d_head_"]:
    """Covariance of paired vectors about their means at each place, degrees of freedom counted."""
    products = _in_sets(np.stack([_products(left.vectors[at], right.vectors[at]) for at in groups]))
    degrees = np.sum(np.maximum(count - 1, 0), axis=1)
    return np.asarray((products - _between(left.sums, right.sums, count)) / degrees[:, None, None])


def _between(
    left: Float[np.ndarray, "set place d"],
    right: Float[np.ndarray, "set place d_"],
    count: Float[np.ndarray, "set place"],
) -> Float[np.ndarray, "set d d_"]:
    """Σ_t s_t s_tᵀ / n_t, from sums at each place."""
    return np.asarray(np.swapaxes(left / np.maximum(count, 1)[..., None], 1, 2) @ right)


def _in_sets(each: Float[np.ndarray, "group *value"]) -> Float[np.ndarray, "set *value"]:
    """Sums over all groups, and over all but one."""
    total = each.sum(0)
    return np.concatenate([total[None], total - each])


def _products(left: Vectors, right: Vectors) -> Float[np.ndarray, "d_head d_head_"]:
    width = left.shape[-1]
    return np.asarray(left.reshape(-1, width).T @ right.reshape(-1, width), dtype=np.float64)

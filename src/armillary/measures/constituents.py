"""What the nine parts of attention scores are worth: shares of their variation over keys, and where they peak."""

import numpy as np
from jaxtyping import Bool, Float


def part_covariance(
    query: Float[np.ndarray, "part_query query d_head"],
    key: Float[np.ndarray, "part_key key d_head"],
    allowed: Bool[np.ndarray, "query key"],
) -> Float[np.ndarray, "part_query part_key"]:
    """Covariance over keys of each part of the scores with their sum, in squared scores, added up over queries.

    The part (a, b) of the scores is query[a] key[b]ᵀ. For every query the covariance runs over the keys that it may
    attend to; a query with fewer than two adds nothing. Softmax sees only how scores differ between the keys of one
    query, and this is that variation. The nine entries add up to the variance of the scores over keys.
    """
    total = query.sum(0) @ key.sum(0).T
    count = allowed.sum(1, keepdims=True)
    counted = allowed & (count > 1)
    # The sum is centred, so the parts need not be, and no part is ever written out as a map.
    centred = np.where(counted, less_key_mean(total, counted), 0) / np.maximum(count, 1)
    return np.einsum("aqd,bqd->ab", query, centred @ key)


def less_key_mean(
    scores: Float[np.ndarray, "query key"], counted: Bool[np.ndarray, "query key"]
) -> Float[np.ndarray, "query key"]:
    """Scores less their mean over the counted keys of each query: a softmax sees no more than how they differ."""
    sums = np.where(counted, scores, 0).sum(1, keepdims=True)
    return scores - sums / np.maximum(counted.sum(1, keepdims=True), 1)


def part_share(part_covariance: Float[np.ndarray, "part_query part_key"]) -> Float[np.ndarray, "part_query part_key"]:
    """Share of each part in the variance of the scores over keys; the shares add up to 1, one may be negative.

    Cov(part, scores) / Var(scores), both added up over queries: the variance of the part itself and half of each of its
    covariances with the others, twice counted in the variance of a sum, so that every covariance is split evenly.
    Negative: the part works against the others. NaN where the scores do not vary.
    """
    total = part_covariance.sum()
    return part_covariance / (total if total > 0 else np.nan)


def argmax_share(scores: Float[np.ndarray, "query key"]) -> float:
    """Fraction of queries t whose score is largest at key t among the keys up to t: Song & Zhong, equation (8).

    The first query has one key and always counts: among T queries the share is at least 1/T. A tie counts for t, the
    latest key. For independent random scores it is the expected number of records over T, about (ln T + 0.58)/T.
    """
    before = np.where(np.tri(len(scores), k=-1, dtype=bool), scores, -np.inf)
    return float(np.mean(np.diagonal(scores) >= before.max(axis=1)))


def score_parts(
    query: Float[np.ndarray, "part_query query d_head"], key: Float[np.ndarray, "part_key key d_head"]
) -> Float[np.ndarray, "part_query part_key query key"]:
    """Scores of every part of the queries with every part of the keys; their sum over parts is the whole score."""
    return np.einsum("aqd,bkd->abqk", query, key)


def decoupled_scores(
    position: Float[np.ndarray, "token d_model"],
    other: Float[np.ndarray, "token d_model"],
    low_rank: Float[np.ndarray, "d_model d_model_"],
    diagonal: Float[np.ndarray, " d_model"],
) -> Float[np.ndarray, "token token_"]:
    """tᵀ(VLVᵀ + D)t′ + cᵀDc′ for all pairs of tokens: scores without cross terms (Song & Zhong, after equation 9).

    What W = VLVᵀ + D gives for t in the span of V and c orthogonal to it, if D is a multiple of the identity; a general
    diagonal D mixes t with c′.
    """
    return position @ (low_rank + np.diag(diagonal)) @ position.T + (other * diagonal) @ other.T

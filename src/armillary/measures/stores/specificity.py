"""Whether what a head finds for a word is about that word: rankings of words, permuted words, random heads."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

FEWEST = 10
"""Words below which the permutation null is too coarse for a z-score."""


class Matching(NamedTuple):
    """How well things fit the words they were found for, how well they fit other words, and the z-score between."""

    fit: float
    null: float
    z: float


def top_others(scores: Float[np.ndarray, "word word_"], count: int) -> Int[np.ndarray, "word rank"]:
    """For each word the others of highest score, best first; −1 where there are no more, or where all score alike."""
    alone = scores.astype(np.float64)
    np.fill_diagonal(alone, -np.inf)
    order = np.argsort(-alone, axis=1, kind="stable")[:, : min(count, len(scores) - 1)]
    lowest = np.where(np.eye(len(scores), dtype=bool), np.inf, alone).min(axis=1)
    order[(alone.max(axis=1) == lowest) & (len(scores) > 2)] = -1  # the order of the list would pass for a finding
    return np.pad(order, ((0, 0), (0, count - order.shape[1])), constant_values=-1)


def scores_of(
    scores: Float[np.ndarray, "word word_"], chosen: Int[np.ndarray, "word rank"]
) -> Float[np.ndarray, "word rank"]:
    """The scores of chosen words; NaN where none is."""
    return np.where(chosen >= 0, np.take_along_axis(scores, np.maximum(chosen, 0), axis=1), np.nan)


def without_self(similarity: Float[np.ndarray, "word word_"]) -> Float[np.ndarray, "word word_"]:
    """The similarity of words with the mean of the others on the diagonal: a word itself counts like any other."""
    count = len(similarity)
    filled = similarity.astype(np.float64)
    np.fill_diagonal(filled, 0.0)
    np.fill_diagonal(filled, filled.sum(axis=1) / max(count - 1, 1))
    return filled


def matching(fit: Float[np.ndarray, "word word_"]) -> Matching:
    """Whether fit[i, i], how well what was found for word i fits word i, exceeds that for permuted words.

    Mean and variance over all permutations in closed form (Hoeffding 1951): Var Σ a(i, π(i)) = Σ d² / (n − 1), d the
    fit less its row and column means. What fits every word, and words that everything fits, cancel.
    """
    count = len(fit)
    own, null = float(np.trace(fit) / count), float(fit.mean())
    if count < FEWEST:
        return Matching(own, null, float("nan"))
    departure = fit - fit.mean(axis=0) - fit.mean(axis=1, keepdims=True) + fit.mean()
    sd = np.sqrt(np.sum(departure**2) / (count - 1)) / count
    return Matching(own, null, float((own - null) / sd) if sd > 1e-12 else float("nan"))


def fit_of(
    similarity: Float[np.ndarray, "word word_"], chosen: Int[np.ndarray, "word rank"]
) -> Float[np.ndarray, "word word_"]:
    """How similar the words chosen for word i are to word j on average: [i, j]; NaN where none is chosen."""
    known = chosen >= 0
    total = np.where(known[..., None], similarity[np.maximum(chosen, 0)], 0.0).sum(axis=1)
    count = known.sum(axis=1)[:, None]
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def random_scores(
    left: Float[np.ndarray, "word d_model"],
    right: Float[np.ndarray, "word d_model"],
    value: Float[np.ndarray, " mode"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "word word_"]:
    """Scores of words in a head with these singular values and random directions."""
    read, written = (words @ rng.standard_normal((words.shape[1], len(value))) for words in (left, right))
    return (read * value) @ written.T


def random_matching(
    left: Float[np.ndarray, "word d_model"],
    right: Float[np.ndarray, "word d_model"],
    value: Float[np.ndarray, "head mode"],
    similarity: Float[np.ndarray, "set word word_"],
    count: int,
    draws: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "set 2"]:
    """Mean and standard deviation of the permutation z-score over random heads, for each kind of similarity.

    Similar words find similar things even in a random head, so that words do not count one by one: the z-scores of
    permutations alone are too large. Each head is drawn `draws` times with its own singular values; words enter by
    their triangular factor, which has the same inner products.
    """
    short_left, short_right = (np.asarray(np.linalg.qr(words.T, mode="r")).T for words in (left, right))
    found = []
    for each in value:
        for _ in range(draws):
            chosen = top_others(random_scores(short_left, short_right, each, rng), count)
            found.append([matching(fit_of(similar, chosen)).z for similar in similarity])
    z = np.array(found).reshape(-1, len(similarity))
    known = z[np.isfinite(z).all(axis=1)]
    if len(known) < 2:
        return np.full((len(similarity), 2), np.nan)
    return np.stack([known.mean(axis=0), known.std(axis=0, ddof=1)], axis=1)

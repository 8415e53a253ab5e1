"""The vocabulary as unit vectors, and the tokens nearest to a direction or a plane, the same on every machine."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

ROWS = 256
"""Directions that are read at once: the scores of a vocabulary of 50 000 are then 50 MB."""

ROUNDING = 1e-5
"""More than float32 products of unit vectors err: tokens within it of the last place are scored again in float64."""

DIGITS = 9
"""Scores that agree to these digits are equal, and the token of the smaller id comes first."""

ENDS = ("positive", "negative")


class Lexicon(NamedTuple):
    """Unit vectors of all tokens, float32; their mean and second moment, float64, over the vocabulary."""

    vectors: Float[np.ndarray, "token d_model"]
    mean: Float[np.ndarray, " d_model"]
    second: Float[np.ndarray, "d_model d_model_"]


class Ranking(NamedTuple):
    """The tokens of highest score, best first, and their scores; −1 and NaN where there are none."""

    token: Int[np.ndarray, "*direction rank"]
    score: Float[np.ndarray, "*direction rank"]


def lexicon(vectors: Float[np.ndarray, "token d_model"], centring: bool = False) -> Lexicon:
    """Token vectors scaled to norm 1, for LayerNorm after centring each over its coordinates; zero stays zero."""
    unit = unit_rows(vectors, centring)
    second = (unit.T @ unit).astype(np.float64) / len(unit)
    return Lexicon(unit, unit.mean(axis=0, dtype=np.float64), second)


def unit_rows(vectors: Float[np.ndarray, "token d_model"], centring: bool) -> Float[np.ndarray, "token d_model"]:
    """Rows of norm 1, float32."""
    rows = vectors.astype(np.float32)
    if centring:
        rows -= rows.mean(axis=1, keepdims=True, dtype=np.float64).astype(np.float32)
    norms = np.sqrt(np.einsum("td,td->t", rows, rows, dtype=np.float64))
    rows /= np.where(norms > 0, norms, 1.0).astype(np.float32)[:, None]
    return rows


def both_ends(directions: Float[np.ndarray, "direction d_model"], words: Lexicon, count: int) -> Ranking:
    """The tokens of largest and of smallest cosine with each direction of norm 1: [direction, end, rank]."""
    return ranking(directions, words, count, (1.0, -1.0))


def one_end(directions: Float[np.ndarray, "direction d_model"], words: Lexicon, count: int) -> Ranking:
    """The tokens of largest cosine with each direction of norm 1: [direction, rank]."""
    found = ranking(directions, words, count, (1.0,))
    return Ranking(found.token[:, 0], found.score[:, 0])


def ranking(
    directions: Float[np.ndarray, "direction d_model"], words: Lexicon, count: int, signs: tuple[float, ...]
) -> Ranking:
    """The best tokens of directions or of their opposites, by sign; the scores are cosines with the directions."""
    token = np.full((len(directions), len(signs), count), -1)
    score = np.full(token.shape, np.nan)
    for start in range(0, len(directions), ROWS):
        chunk = directions[start : start + ROWS]
        scores = chunk.astype(np.float32) @ words.vectors.T
        for end, sign in enumerate(signs):
            signed = scores if sign > 0 else np.negative(scores, out=scores)
            for row, bound in enumerate(lower_bounds(signed, count)):
                near = np.flatnonzero(signed[row] >= bound - ROUNDING)
                exactly = sign * exact(chunk[row][None], words, near)[0]
                token[start + row, end], score[start + row, end] = best(near, exactly, count)
    return Ranking(token, score * np.array(signs)[:, None])


def plane_reading(plane: Float[np.ndarray, "direction d_model"], words: Lexicon, count: int) -> Ranking:
    """The tokens with the longest projection onto the plane of some orthonormal directions: [rank].

    The length does not change when the directions are rotated within their plane.
    """
    scores = plane_scores(plane, words)
    near = np.flatnonzero(scores >= lower_bounds(scores[None], count)[0] - ROUNDING)
    return Ranking(*best(near, np.linalg.norm(exact(plane, words, near), axis=0), count))


def plane_scores(plane: Float[np.ndarray, "direction d_model"], words: Lexicon) -> Float[np.ndarray, " token"]:
    """The length of every token's projection onto a plane, float32."""
    return np.linalg.norm(words.vectors @ plane.astype(np.float32).T, axis=1)


def lower_bounds(scores: Float[np.ndarray, "direction token"], count: int) -> Float[np.ndarray, " direction"]:
    """A number that at least `count` scores of each row reach, near the smallest of these.

    Of the largest scores of short stretches, the `count`-th: much quicker than sorting rows.
    """
    tokens = scores.shape[1]
    stretch = max(1, tokens // (16 * count))
    even = tokens - tokens % stretch
    highest = scores[:, :even].reshape(len(scores), -1, stretch).max(axis=2)
    place = min(count, highest.shape[1])
    return np.partition(highest, -place, axis=1)[:, -place]


def exact(
    directions: Float[np.ndarray, "direction d_model"], words: Lexicon, tokens: Int[np.ndarray, " some"]
) -> Float[np.ndarray, "direction some"]:
    """Cosines of some tokens, float64; summed in one order, whatever the number of threads."""
    return np.einsum("nd,td->nt", directions.astype(np.float64), words.vectors[tokens].astype(np.float64))


def best(
    tokens: Int[np.ndarray, " some"], scores: Float[np.ndarray, " some"], count: int
) -> tuple[Int[np.ndarray, " rank"], Float[np.ndarray, " rank"]]:
    """The `count` tokens of highest score, equal scores by token id; filled up with −1 and NaN."""
    order = np.lexsort((tokens, -np.round(scores, DIGITS)))[:count]
    token, score = np.full(count, -1, dtype=np.int64), np.full(count, np.nan)
    token[: len(order)], score[: len(order)] = tokens[order], scores[order]
    return token, score

"""How clear a reading is beside random directions: how far its top token stands out, how similar its tokens are."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from armillary.measures.stores.lexicon import Lexicon, both_ends, plane_reading, plane_scores

LEVEL = 0.99
"""A reading is readable where it exceeds this point of the null."""


class Null(NamedTuple):
    """Mean, standard deviation and 99 % point of a measure over random directions."""

    mean: float
    sd: float
    point: float

    def z(self, value: float | Float[np.ndarray, " direction"]) -> Float[np.ndarray, "..."]:
        """A value in standard deviations of the null."""
        return np.asarray((value - self.mean) / self.sd)


class Clarity(NamedTuple):
    """How clear readings are: the peak of the top token, and the coherence of the top tokens."""

    peak: Float[np.ndarray, " direction"]
    coherence: Float[np.ndarray, " direction"]


def peaks(
    directions: Float[np.ndarray, "direction d_model"],
    highest: Float[np.ndarray, " direction"],
    lowest: Float[np.ndarray, " direction"],
    words: Lexicon,
) -> Float[np.ndarray, " direction"]:
    """The top token's distance from the vocabulary's mean cosine, in the vocabulary's standard deviations.

    `highest` and `lowest` are the largest and the smallest cosine of each direction; mean and variance over the
    vocabulary follow from its moments. Free of what all tokens share, and of the length of the directions.
    """
    wide = directions.astype(np.float64, copy=False)
    mean = wide @ words.mean
    variance = np.einsum("nd,de,ne->n", wide, words.second, wide, optimize=True) - mean**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.maximum(highest - mean, mean - lowest) / np.sqrt(variance))


def coherence(token: Int[np.ndarray, "direction end rank"], words: Lexicon) -> Float[np.ndarray, " direction"]:
    """The mean cosine between the top tokens of an end, of the more coherent of the two ends."""
    vectors = words.vectors[token]
    ranks = token.shape[2]
    total = np.einsum("nerd,nerd->ne", *[vectors.sum(axis=2, keepdims=True)] * 2)
    single = np.einsum("nerd,nerd->ne", vectors, vectors)
    return np.asarray(((total - single) / (ranks * (ranks - 1))).max(axis=1), dtype=np.float64)


def clarity(directions: Float[np.ndarray, "direction d_model"], words: Lexicon, count: int) -> Clarity:
    """Peak and coherence of directions of norm 1 whose tokens nobody asks for."""
    found = both_ends(directions, words, count)
    peak = peaks(directions, found.score[:, 0, 0], found.score[:, 1, 0], words)
    return Clarity(peak, coherence(found.token, words))


def plane_clarity(plane: Float[np.ndarray, "direction d_model"], words: Lexicon, count: int) -> tuple[float, float]:
    """The same of a plane, which has one end."""
    token = plane_reading(plane, words, count).token
    return plane_peak(plane, words), float(coherence(token[None, None], words)[0])


def plane_peak(plane: Float[np.ndarray, "direction d_model"], words: Lexicon) -> float:
    """The same of a plane: the longest projection of a token against those of the vocabulary."""
    scores = plane_scores(plane, words).astype(np.float64)
    return float((scores.max() - scores.mean()) / scores.std()) if scores.std() > 0 else float("nan")


def clarity_nulls(words: Lexicon, dimension: int, count: int, seed: int, draws: int) -> tuple[Null, Null]:
    """Peak and coherence of random directions of the hidden space, or of random planes of more dimensions.

    Planes are a hundred at least, and fewer than directions: reading one takes longer.
    The singular vectors of fresh weights are such directions: this is the random-weight control with the model's own
    vocabulary.
    """
    rng = np.random.default_rng([seed, dimension])
    d_model = words.vectors.shape[1]
    if dimension == 1:
        drawn = unit(rng.standard_normal((draws, d_model)))
        return null_pair(np.array(clarity(drawn, words, count)))
    shape = (max(100, draws // dimension), d_model, dimension)
    frames = (np.linalg.qr(rng.standard_normal(shape[1:]))[0].T for _ in range(shape[0]))
    return null_pair(np.array([plane_clarity(frame, words, count) for frame in frames]).T)


def null_pair(found: Float[np.ndarray, "measure draw"]) -> tuple[Null, Null]:
    """The nulls of peak and coherence from what random directions gave."""
    peak, similar = (Null(float(x.mean()), float(x.std(ddof=1)), float(np.quantile(x, LEVEL))) for x in found)
    return peak, similar


def subspace_directions(
    basis: Float[np.ndarray, "d_model mode"], rng: np.random.Generator, draws: int
) -> Float[np.ndarray, "direction d_model"]:
    """Random directions within the span of an orthonormal basis; they do not depend on the basis chosen for it."""
    drawn = rng.standard_normal((draws, len(basis)))
    return unit((drawn @ basis) @ basis.T)


def unit(vectors: Float[np.ndarray, "direction d_model"]) -> Float[np.ndarray, "direction d_model"]:
    """Rows of norm 1; what is zero stays zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1.0))

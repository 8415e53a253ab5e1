"""How alike the context vectors of one document are, and of different ones; the blocks of Song & Zhong's Figure 2."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

ROWS = 1024  # a block of cosines stays below 32 MB at 4 096 contexts


class Similarity(NamedTuple):
    """Mean absolute cosines of context vectors, 0 to 1."""

    similarity_within: float
    similarity_between: float
    similarity_within_published: float


class BlockGram(NamedTuple):
    """Cosines among position vectors, of position with context vectors, and among context vectors."""

    position_position: Float[np.ndarray, "position position_"]
    position_context: Float[np.ndarray, "position context"]
    context_context: Float[np.ndarray, "context context_"]


def similarity(context_basis: Float[np.ndarray, "context d_model"], document: Int[np.ndarray, "context"]) -> Similarity:
    """Mean absolute cosine of context vectors of the same document and of different ones, no vector with itself.

    The published "within" counts each vector with itself (a cosine of 1), which lifts it by (1 − within)/n for
    documents of n windows. NaN where there is no such pair, or where a context vector is zero and has no direction. Two
    random directions give √(2/(π d_model)), not 0.
    """
    unit = unit_vectors(context_basis)
    sums = np.zeros(2)
    pairs = np.zeros(2)
    for start in range(0, len(unit), ROWS):
        cosines = np.abs(unit[start : start + ROWS] @ unit.T)
        same = document[start : start + ROWS, None] == document
        within = float(np.sum(cosines, where=same))
        sums += within, float(cosines.sum()) - within
        pairs += np.count_nonzero(same), same.size - np.count_nonzero(same)
    itself = float(len(unit))
    return Similarity(_ratio(sums[0] - itself, pairs[0] - itself), _ratio(sums[1], pairs[1]), _ratio(sums[0], pairs[0]))


def block_gram(
    position_basis: Float[np.ndarray, "position d_model"], context_basis: Float[np.ndarray, "context d_model"]
) -> BlockGram:
    """Cosines of all position and context vectors with each other, in three blocks: Song & Zhong, Figure 2.

    The whole matrix is [[position_position, position_context], [its transpose, context_context]].
    """
    position, context = unit_vectors(position_basis), unit_vectors(context_basis)
    return BlockGram(position @ position.T, position @ context.T, context @ context.T)


def unit_vectors(vectors: Float[np.ndarray, "*batch d_model"]) -> Float[np.ndarray, "*batch d_model"]:
    """The vectors at length 1, float64; NaN for a zero vector, which has no direction."""
    norms = np.linalg.norm(vectors.astype(np.float64, copy=False), axis=-1, keepdims=True)
    return vectors / np.where(norms > 0, norms, np.nan)


def _ratio(total: float, count: float) -> float:
    return float(total / count) if count > 0 else float("nan")

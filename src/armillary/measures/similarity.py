"""How similar the context vectors of one document are, and of different ones; the blocks of Song & Zhong's Figure 2."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from armillary.measures.chance import chance_cosine
from armillary.measures.errors.leave_out import count_of, jackknifed, leave_out


class Similarity(NamedTuple):
    """Mean absolute cosines of context vectors, 0 to 1, with their standard errors over documents."""

    similarity_within: float
    similarity_within_se: float
    similarity_within_without: Float[np.ndarray, "group"]
    similarity_between: float
    similarity_between_se: float
    similarity_between_without: Float[np.ndarray, "group"]
    similarity_within_published: float


class BlockGram(NamedTuple):
    """Cosines among position vectors, of position with context vectors, and among context vectors."""

    position_position: Float[np.ndarray, "position position_"]
    position_context: Float[np.ndarray, "position context"]
    context_context: Float[np.ndarray, "context context_"]


def similarity(
    cosines: Float[np.ndarray, "context context_"],
    document: Int[np.ndarray, " context"],
    group: Int[np.ndarray, " context"],
) -> Similarity:
    """Mean absolute cosine of context vectors of the same document and of different ones, no vector with itself.

    The published "within" counts each vector with itself (a cosine of 1), which lifts it by (1 − within)/n for
    documents of n windows. Errors: jackknife over `group`, the context vectors as they are, some left out. NaN where
    there is no such pair, or where a context vector is zero and has no direction. Two random directions give
    √(2/(π d_model)), not 0; see `similarity_null`.
    """
    kept = leave_out(group, count_of(group))
    absolute = np.abs(cosines)
    everything = pair_sums(absolute, kept)
    absolute *= document[:, None] == document
    same = pair_sums(absolute, kept)
    contexts = kept.sum(axis=1)
    per_document = kept @ np.eye(document.max() + 1)[document]
    same_pairs = np.sum(per_document**2, axis=1)
    within = ratio(same - contexts, same_pairs - contexts)
    between = ratio(everything - same, contexts**2 - same_pairs)
    return Similarity(*jackknifed(within), *jackknifed(between), float(same[0] / same_pairs[0]))


def similarity_null(context_basis: Float[np.ndarray, "context d_model"], group: Int[np.ndarray, " context"]) -> float:
    """Mean |cos| of independent Gaussian vectors with the covariance of the context vectors: similarity by chance.

    Context vectors crowd into few directions, and independent vectors are then similar. Their
    sample covariance S (about zero, over C vectors in d dimensions) crowds too much: tr S² is too large by about
    (tr S)²/C, which alone would give cosines of √(2/(π C)). So S is drawn towards the multiple of the identity with
    the same trace, a S + (1 − a)(tr S/d) I, so far that tr of its square becomes the mean ⟨x, x′⟩² over pairs of
    different groups, which is unbiased (a in [0, 1]; the shrinkage of Ledoit & Wolf 2004, with documents as the
    independent units). Then `chance_cosine` of its spectrum. NaN with one group or without any variance.
    """
    contexts, d_model = context_basis.shape
    gram = context_basis @ context_basis.T
    apart = group[:, None] != group
    trace = float(np.trace(gram)) / contexts
    if not apart.any() or trace == 0:
        return float("nan")
    squares, flat = gram**2, trace**2 / d_model
    excess = float(squares.sum()) / contexts**2 - flat
    wanted = float(squares[apart].mean()) - flat
    share = np.sqrt(np.clip(wanted / excess, 0, 1)) if excess > 0 else 1.0
    spectrum = np.zeros(d_model)
    smaller = gram if contexts <= d_model else context_basis.T @ context_basis
    spectrum[: len(smaller)] = np.linalg.eigvalsh(smaller)[::-1].clip(0) / contexts
    return chance_cosine(share * spectrum + (1 - share) * trace / d_model)


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


def cosine_table(vectors: Float[np.ndarray, "context d_model"]) -> Float[np.ndarray, "context context_"]:
    """Cosines of all pairs, float32 (a table of 4 096 windows is 67 MB), exactly 1 on the diagonal."""
    unit = unit_vectors(vectors).astype(np.float32)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, 1)
    return cosines


def pair_sums(
    table: Float[np.ndarray, "context context_"], kept: Bool[np.ndarray, "set context"]
) -> Float[np.ndarray, " set"]:
    """The sum of the table over all ordered pairs that a set keeps."""
    rows = kept.astype(table.dtype) @ table
    return np.einsum("sc,sc->s", rows, kept, dtype=np.float64)


def ratio(totals: Float[np.ndarray, " set"], counts: Float[np.ndarray, " set"]) -> Float[np.ndarray, " set"]:
    """Totals over counts; NaN where there is nothing to count."""
    return totals / np.where(counts > 0, counts, np.nan)

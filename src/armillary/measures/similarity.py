"""How similar the context vectors of one document are, and of different ones; the blocks of Song & Zhong's Figure 2."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from armillary.measures.chance import chance_cosine, spectrum_from

SHUFFLES = 19  # the highest of 19 is passed by chance once in twenty times


class Similarity(NamedTuple):
    """Mean absolute cosines of context vectors, 0 to 1: within documents, what shuffling gives, between documents."""

    similarity_within: float
    similarity_within_null: float
    similarity_within_published: float
    similarity_between: float


class BlockGram(NamedTuple):
    """Cosines among position vectors, of position with context vectors, and among context vectors."""

    position_position: Float[np.ndarray, "position position_"]
    position_context: Float[np.ndarray, "position context"]
    context_context: Float[np.ndarray, "context context_"]


def similarity(cosines: Float[np.ndarray, "context context_"], document: Int[np.ndarray, " context"]) -> Similarity:
    """Mean absolute cosine of context vectors of the same document and of different ones, no vector with itself.

    The published "within" counts each vector with itself (a cosine of 1), which lifts it by (1 − within)/n for
    documents of n windows. `similarity_within_null` is the highest value of 19 shuffles of the documents among the
    windows: chance passes it once in twenty times. There is no interval: all context vectors share the mean that was
    taken off, and where documents are few or unequal no jackknife of these values covers. NaN where there is no such
    pair, or where a context vector is zero and has no direction. Two random directions give √(2/(π d_model)), not 0;
    see `similarity_null`.
    """
    contexts, absolute = len(document), np.abs(cosines)
    first, second = np.nonzero(np.triu(document[:, None] == document, 1))
    pairs = 2 * len(first)
    rng = np.random.default_rng(0)
    orders = [np.arange(contexts), *(rng.permutation(contexts) for _ in range(SHUFFLES))]
    sums = np.array([2 * absolute[order[first], order[second]].sum(dtype=np.float64) for order in orders])
    within = sums / pairs if pairs else np.full(len(sums), np.nan)
    apart = contexts * (contexts - 1) - pairs
    others = float(absolute.sum(dtype=np.float64)) - contexts - sums[0]
    return Similarity(
        similarity_within=float(within[0]),
        similarity_within_null=float(within[1:].max()),
        similarity_within_published=float((sums[0] + contexts) / (pairs + contexts)),
        similarity_between=others / apart if apart else float("nan"),
    )


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
    return chance_cosine(spectrum_from(share * spectrum + (1 - share) * trace / d_model))


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


def ratio(totals: Float[np.ndarray, " set"], counts: Float[np.ndarray, " set"]) -> Float[np.ndarray, " set"]:
    """Totals over counts; NaN where there is nothing to count."""
    return totals / np.where(counts > 0, counts, np.nan)

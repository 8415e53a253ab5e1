"""The likely tokens of a text as a law of states: what which token it is explains, of its own state and of the next.

After Wertich, sections 4.2.3 and 4.3. A token that is one of k likely ones has the covariance Σ λ v vᵀ − μμᵀ; a
Gaussian conditional takes the mean of the next state for linear in the previous one. A text can be asked for both: how
much of the variance the k vectors hold, and whether the mean after a given token is where the linear rule puts it.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from armillary.measures.errors.leave_out import count_of, debiased
from armillary.measures.gaussian.distance import fixed_and_anew, leading_frames
from armillary.measures.gaussian.tokens import published_token_gram, spectral_energy, token_gram

States = Float[np.ndarray, "context position mode"]
Marks = Int[np.ndarray, "context position"]
Scatter = Float[np.ndarray, "mode mode_"]


class Explained(NamedTuple):
    """Shares of the variance of states, mean over directions of equal weight, bias-corrected, with error or range.

    `own_token`: the state's own token. Of the next state: `previous_token`, which token stands before it;
    `previous_predicted`, the same as the Gaussian conditional predicts it; `previous_state`, the whole state before it,
    through the Gaussian conditional.
    """

    own_token: float
    own_token_se: float
    previous_token: float
    previous_token_low: float
    previous_token_high: float
    previous_predicted: float
    previous_predicted_low: float
    previous_predicted_high: float
    previous_state: float
    previous_state_low: float
    previous_state_high: float


class Marginal(NamedTuple):
    """The law of one of k likely tokens: eigenvalues of √(λ_iλ_j) α_ij, trace 1, their effective number, mean cosine.

    `directions` is 1/tr G²; `directions_orthogonal` what it would be at right angles, 1/Σλ²; `directions_published`
    that of the printed λ_iλ_j α_ij. `cosine` is the mean α of two different tokens, by their probabilities.
    """

    eigenvalue: Float[np.ndarray, " mode"]
    directions: float
    directions_low: float
    directions_high: float
    directions_orthogonal: float
    directions_published: float
    cosine: float
    cosine_low: float
    cosine_high: float


class _Scatters(NamedTuple):
    """Scatter of (x, y) about their mean, between marks without the noise of their means, and degrees of freedom."""

    total: Scatter
    between: Scatter
    degrees: float


def likely_marks(tokens: Marks, kept: Bool[np.ndarray, "context position"], count: int) -> Marks:
    """Every token by its rank among the `count` most frequent kept ones, −1 where it is rarer or not kept."""
    names, inverse, often = np.unique(tokens[kept], return_inverse=True, return_counts=True)
    order = np.argsort(-often, kind="stable")[:count]
    ranks = np.full(len(names), -1)
    ranks[order] = np.arange(len(order))
    marks = np.full(tokens.shape, -1)
    marks[kept] = ranks[inverse]
    return marks


def explained_by_tokens(
    states: States,
    marks: Marks,
    kept: Bool[np.ndarray, "context position"],
    group: Int[np.ndarray, " context"],
    size: int,
) -> Explained:
    """What the likely tokens and the Gaussian conditional explain, over pairs whose first token is a likely one.

    States are taken about their mean at each position, in their `size` leading directions. Every number, and for the
    error the directions, are made anew without each group of documents.
    """
    present = kept.sum(0)
    centre = np.sum(states * kept[..., None], axis=0, dtype=np.float64) / np.maximum(present, 1)[:, None]
    centred = states - centre
    both = np.concatenate([centred[:, :-1], centred[:, 1:]], axis=2)
    used = kept[:, :-1] & kept[:, 1:] & (marks[:, :-1] >= 0)
    window = np.broadcast_to(np.arange(len(group))[:, None], used.shape)[used]
    sets = _in_sets(both[used], marks[:, :-1][used], group[window], count_of(group))
    frames = leading_frames(states, kept, group, size)
    fixed, anew = (
        np.array([_shares(_along(frame, one), size) for frame, one in zip(each, sets, strict=True)])
        for each in (np.broadcast_to(frames[0], frames.shape), frames)
    )
    found = fixed_and_anew(fixed, anew)
    ranges = [float(part[at]) for at in (1, 2, 3) for part in (found.value, found.low, found.high)]
    return Explained(float(found.value[0]), float(found.se[0]), *ranges)


def marginal_spectrum(
    sums: Float[np.ndarray, "group token d_model"], counts: Float[np.ndarray, "group token"]
) -> Marginal:
    """Spectrum, effective number of directions and mean cosine of the likely tokens' mean states, each of length 1."""
    total, often = sums.sum(0), counts.sum(0)
    sets = [_gram(total, often), *(_gram(total - part, often - own) for part, own in zip(sums, counts, strict=True))]
    numbers = debiased(np.array([[1 / spectral_energy(*each), _mean_cosine(*each)] for each in sets]))
    shares, angles = sets[0]
    directions, cosine = (
        (float(numbers.value[at]), float(numbers.low[at]), float(numbers.high[at])) for at in range(2)
    )
    printed = np.linalg.eigvalsh(published_token_gram(shares, angles))
    return Marginal(
        np.linalg.eigvalsh(token_gram(shares, angles))[::-1],
        *directions,
        float(1 / np.sum(shares**2)),
        float(printed.sum() ** 2 / np.sum(printed**2)),
        *cosine,
    )


def _gram(sums: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities, and cosines of the mean vectors."""
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    unit = sums / np.where(lengths > 0, lengths, 1)  # a token that a set lacks has probability 0 there
    return counts / counts.sum(), unit @ unit.T


def _mean_cosine(shares: np.ndarray, angles: np.ndarray) -> float:
    weights = np.outer(shares, shares) * (1 - np.eye(len(shares)))
    return float(np.sum(weights * angles) / weights.sum())


def _in_sets(
    vectors: Float[np.ndarray, "pair both"],
    marks: Int[np.ndarray, " pair"],
    group: Int[np.ndarray, " pair"],
    groups: int,
) -> list[_Scatters]:
    """Scatters of all pairs, and without each group of documents in turn."""
    tokens, width = int(marks.max(initial=0)) + 1, vectors.shape[1]
    places = group * tokens + marks
    counts = np.bincount(places, minlength=groups * tokens).reshape(groups, tokens).astype(np.float64)
    flat = np.zeros((groups * tokens, width))
    np.add.at(flat, places, vectors)
    sums = flat.reshape(groups, tokens, width)
    products = np.stack([vectors[group == at].T @ vectors[group == at] for at in range(groups)])
    parts = (counts, sums, products)
    whole = [part.sum(0) for part in parts]
    left = [[total - part[at] for total, part in zip(whole, parts, strict=True)] for at in range(groups)]
    return [_scatters(*each) for each in (whole, *left)]


def _scatters(counts: np.ndarray, sums: np.ndarray, products: np.ndarray) -> _Scatters:
    """One-way analysis of variance: what is between tokens, less the part that their means owe to noise."""
    size, tokens = counts.sum(), int(np.sum(counts > 0))
    mean = sums.sum(0)
    total = products - np.outer(mean, mean) / size
    means = sums / np.sqrt(np.maximum(counts, 1))[:, None]
    between = means.T @ means - np.outer(mean, mean) / size
    return _Scatters(total, between - (tokens - 1) * (total - between) / max(size - tokens, 1), size - 1)


def _along(frame: Float[np.ndarray, "mode leading"], found: _Scatters) -> _Scatters:
    """Scatters of both tokens along some directions."""
    both = np.kron(np.eye(2), frame)
    return _Scatters(both.T @ found.total @ both, both.T @ found.between @ both, found.degrees)


def _shares(found: _Scatters, width: int) -> tuple[float, float, float, float]:
    """Own token, previous token, what the conditional predicts for it, and the previous state."""
    if found.degrees <= 2 * width:
        return (np.nan,) * 4
    across = found.total[:width, width:]
    inverse, total = np.linalg.pinv(found.total[:width, :width], hermitian=True), found.total[width:, width:]
    gain = across.T @ inverse
    fitted = gain @ across
    fitted -= width * (total - fitted) / (found.degrees - width)
    between, after = found.between[:width, :width], found.between[width:, width:]
    of_next = np.linalg.pinv(total, hermitian=True)
    parts = ((inverse, between), (of_next, after), (of_next, gain @ between @ gain.T), (of_next, fitted))
    own, previous, predicted, state = (float(np.sum(scale * part.T)) / width for scale, part in parts)
    return own, previous, predicted, state

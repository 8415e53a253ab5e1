"""How unevenly the states fill their space: the mean cosine, and the dimensions that carry it."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from armillary.measures.errors.leave_out import count_of, jackknifed, leave_out, unknown
from armillary.measures.massive import counted, counted_states
from armillary.measures.similarity import ratio, unit_vectors

LARGEST = 8  # dimensions that are named
TIMES = 5.0  # the average variance, above which a dimension is an outlier


class Anisotropy(NamedTuple):
    """Mean cosine of two different states, as they are and mean-centred, with errors over documents (`Jackknifed`)."""

    anisotropy: float
    anisotropy_se: float
    anisotropy_without: Float[np.ndarray, "group"]
    anisotropy_centred: float
    anisotropy_centred_se: float
    anisotropy_centred_without: Float[np.ndarray, "group"]


class OutlierDimensions(NamedTuple):
    """How many dimensions are outliers, their common share of the variance, and the largest ones with their shares."""

    outlier_dimension_count: int
    outlier_dimension_share: float
    dimension_index: Int[np.ndarray, "mode"]
    dimension_share: Float[np.ndarray, "mode"]


def anisotropy(
    states: Float[np.ndarray, "sample d_model"],
    context: Int[np.ndarray, "sample"],
    group: Int[np.ndarray, "context"],
    massive: Bool[np.ndarray, "sample"],
    holes: int,
) -> Anisotropy:
    """Mean cosine over pairs of different sampled states, −1/(n−1) to 1: Ethayarajh (2019), before and after centring.

    Centred states have a mean cosine near −1/(n − 1), not 0. Errors: jackknife over the groups of the tokens' windows,
    the centred one centred anew without each group. NaN for fewer than two states, or where a state is zero.
    """
    sample = counted_states(states, massive, holes)
    groups = count_of(group)
    kept = leave_out(group[context[counted(massive, holes)]], groups)
    if len(sample) < 2:
        return Anisotropy(*unknown(groups), *unknown(groups))
    centred = sample - sample.mean(axis=0)
    centres = (kept.astype(sample.dtype) @ centred) / np.maximum(kept.sum(axis=1, dtype=sample.dtype), 1)[:, None]
    plain = mean_cosines(sample, kept, 0 * centres[:1])
    moved = mean_cosines(centred, kept, centres)
    return Anisotropy(*jackknifed(plain), *jackknifed(moved))


def mean_cosines(
    states: Float[np.ndarray, "sample d_model"],
    kept: Bool[np.ndarray, "set sample"],
    centres: Float[np.ndarray, "centre d_model"],
) -> Float[np.ndarray, " set"]:
    """The mean cosine over pairs of the states that each set keeps, less the set's own centre, or one for all.

    From the norm of their summed directions, (‖Σ u‖² − n)/(n(n − 1)), without a table of pairs: with w = 1/‖x − m‖
    the sum is Σ w x − (Σ w) m, so that no set needs states of its own.
    """
    squares = np.einsum("sd,sd->s", states, states) - 2 * centres @ states.T
    squares += np.einsum("sd,sd->s", centres, centres)[:, None]
    weights = kept / np.sqrt(np.where(squares > 0, squares, np.nan))
    sums = weights @ states - weights.sum(axis=1)[:, None] * centres
    counts = kept.sum(axis=1).astype(np.float64)
    return ratio(np.sum(sums.astype(np.float64) ** 2, axis=1) - counts, counts * (counts - 1))


def anisotropy_share(states: Float[np.ndarray, "sample d_model"]) -> Float[np.ndarray, "d_model"]:
    """What each dimension adds to the mean cosine of two different states; the sum is the anisotropy itself.

    ((Σ u_i)² − Σ u_i²)/(n(n − 1)): the contributions of Timkey & van Schijndel (2021), who find one to three "rogue"
    dimensions to make up most of it.
    """
    unit = unit_vectors(states)
    count = len(unit)
    if count < 2:
        return np.full(states.shape[1], np.nan)
    return (unit.sum(axis=0) ** 2 - np.einsum("sd,sd->d", unit, unit)) / (count * (count - 1))


def outlier_dimensions(covariance: Float[np.ndarray, "d_model d_model_"]) -> OutlierDimensions:
    """The dimensions whose variance exceeds 5 times the average one, and the 8 of largest variance, largest first.

    Five times the average variance is the definition of Rudman, Chen & Eickhoff (2023); it is free of scale, unlike the
    magnitude 6 of Dettmers et al. (2022), and needs no threshold per layer. It speaks of the given coordinates, not of
    directions. No error: the covariance is summed over all windows together; it rests on every token, not on a sample.
    No variance at all: NaN shares and no outlier.
    """
    variance = np.diagonal(covariance).astype(np.float64)
    total = float(variance.sum())
    share = variance / (total if total > 0 else np.nan)
    largest = np.argsort(-share, kind="stable")[:LARGEST]
    outlier = share > TIMES / len(share)
    common = float(share[outlier].sum()) if total > 0 else float("nan")
    return OutlierDimensions(int(outlier.sum()), common, largest, share[largest])

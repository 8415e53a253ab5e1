"""Do heads rank as predicted? Spearman's correlation over heads, with an error over blocks."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import rankdata

from armillary.measures.errors.jackknife import standard_error


class RhoAgreement(NamedTuple):
    """Rank correlation of predicted and measured signal propagation, −1 to 1, and its standard error over blocks."""

    rho_agreement: float
    rho_agreement_se: float


class EntropyAgreement(NamedTuple):
    """Rank correlation of η with measured relative entropy, −1 to 1, and its standard error over blocks."""

    entropy_agreement: float
    entropy_agreement_se: float


def rho_agreement(
    rho_data: Float[np.ndarray, "block head place"], signal_propagation: Float[np.ndarray, "block head"]
) -> RhoAgreement:
    """Do heads rank as the exact law predicts? The mean of ρ over places against signal propagation on text."""
    return RhoAgreement(*agreement(rho_data.mean(axis=-1), signal_propagation))


def entropy_agreement(
    eta_data: Float[np.ndarray, "block head"], entropy_relative: Float[np.ndarray, "block head"]
) -> EntropyAgreement:
    """Does a small η go with high entropy, as the document says? Its prediction is a correlation below 0."""
    return EntropyAgreement(*agreement(eta_data, entropy_relative))


def agreement(
    predicted: Float[np.ndarray, "block head"], measured: Float[np.ndarray, "block head"]
) -> tuple[float, float]:
    """Rank correlation over all heads for which both are known; its error leaves one block out after the other.

    Heads of one block read the same input and are not independent, so blocks are the units. NaN with fewer than three
    heads or without variation; the error NaN with fewer than four blocks.
    """
    known = np.isfinite(predicted) & np.isfinite(measured)
    without = []
    for block in np.flatnonzero(known.any(axis=1)):
        rest = known & (np.arange(len(known)) != block)[:, None]
        without.append(rank_correlation(predicted[rest], measured[rest]))
    return rank_correlation(predicted[known], measured[known]), float(standard_error(np.array(without)))


def rank_correlation(one: Float[np.ndarray, " head"], other: Float[np.ndarray, " head"]) -> float:
    """Spearman's correlation; NaN with fewer than three values or where one does not vary."""
    if len(one) < 3:
        return float("nan")
    first, second = (rankdata(values) - (len(values) + 1) / 2 for values in (one, other))
    size = float(np.sqrt(np.sum(first**2) * np.sum(second**2)))
    return float(first @ second) / size if size > 0 else float("nan")

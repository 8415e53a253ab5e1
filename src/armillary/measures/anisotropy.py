"""How unevenly the states fill their space: the mean cosine, and the dimensions that carry it."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from armillary.measures.similarity import unit_vectors


class Anisotropy(NamedTuple):
    """Mean cosine of two different states, as they are and with their mean taken off."""

    anisotropy: float
    anisotropy_centred: float


class OutlierDimensions(NamedTuple):
    """Each dimension's share of all variance, which dimensions are outliers, and their common share."""

    variance_share: Float[np.ndarray, "d_model"]
    outlier: Bool[np.ndarray, "d_model"]
    outlier_share: float


def anisotropy(states: Float[np.ndarray, "sample d_model"]) -> Anisotropy:
    """Mean cosine over pairs of different states, −1/(n−1) to 1: Ethayarajh (2019), before and after centring.

    Of n states; from the length of their summed directions, (‖Σ u‖² − n)/(n(n − 1)), without a table of pairs. Centred
    states have a mean cosine near −1/(n − 1), not 0. NaN for fewer than two states, or where a state is zero.
    """
    centred = states - states.mean(axis=0, dtype=np.float64)
    return Anisotropy(float(anisotropy_share(states).sum()), float(anisotropy_share(centred).sum()))


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


def outlier_dimensions(variance: Float[np.ndarray, "d_model"], times: float = 5.0) -> OutlierDimensions:
    """Shares of the total variance per dimension, and the dimensions whose variance exceeds `times` the average one.

    Five times the average variance is the definition of Rudman, Chen & Eickhoff (2023); it is free of scale, unlike the
    magnitude 6 of Dettmers et al. (2022), and needs no threshold per layer. It speaks of the given coordinates, not of
    directions. No variance at all: NaN shares and no outlier.
    """
    total = float(variance.sum(dtype=np.float64))
    share = variance.astype(np.float64) / (total if total > 0 else np.nan)
    outlier = share > times / len(variance)
    return OutlierDimensions(share, outlier, float(share[outlier].sum()) if total > 0 else float("nan"))

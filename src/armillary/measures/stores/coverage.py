"""How much of a head its first triplets cover, in its weights and on text; and what its weights cannot see."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

SHARES = (0.9, 0.99)


class NullSpace(NamedTuple):
    """The share of energy that weights cannot see; what a random subspace of that size would miss, and a z-score."""

    share: float
    null: float
    z: float


def coverage(energy: Float[np.ndarray, " mode"]) -> Float[np.ndarray, " mode"]:
    """The share of the energy that the first triplets hold, for every number of them; NaN where there is none."""
    total = energy.sum()
    return np.cumsum(energy) / total if total > 0 else np.full(len(energy), np.nan)


def needed(covered: Float[np.ndarray, " mode"], share: float) -> float:
    """How many triplets reach a share; NaN where nothing is known."""
    if not np.isfinite(covered).any():
        return float("nan")
    return float(1 + np.argmax(covered >= min(share, covered[-1])))


def written_energy(
    weights: Float[np.ndarray, "d_model mode"],
    covariance: Float[np.ndarray, "d_model d_model_"],
    mean: Float[np.ndarray, " d_model"],
) -> Float[np.ndarray, " mode"]:
    """The mean square of what each triplet writes on text.

    Column i of `weights` is W_VO v_i, which takes the attention's input to the coefficient of v_i: the mean square is
    wᵀ(Σ + m mᵀ)w with the input's covariance and mean.
    """
    second = np.einsum("di,de,ei->i", weights, covariance, weights, optimize=True)
    return second + (mean @ weights) ** 2


def null_space(
    basis: Float[np.ndarray, "d_model mode"],
    covariance: Float[np.ndarray, "d_model d_model_"],
    mean: Float[np.ndarray, " d_model"],
) -> NullSpace:
    """The share of the energy of an attention's inputs that is orthogonal to what weights read.

    A random subspace sees a share of rank / d_model on average; its variance follows from the second moment M of the
    inputs: Var tr(PM) = 2 r (d − r) / (d (d − 1) (d + 2)) · (tr M² − (tr M)² / d).
    """
    d_model, seen = basis.shape
    total = np.trace(covariance) + mean @ mean
    within = np.einsum("di,de,ei->", basis, covariance, basis, optimize=True) + np.sum((mean @ basis) ** 2)
    if not total > 0:
        return NullSpace(float("nan"), 1 - seen / d_model, float("nan"))
    square = np.sum(covariance**2) + 2 * mean @ covariance @ mean + (mean @ mean) ** 2
    spread = max(square - total**2 / d_model, 0.0) * 2 * seen * (d_model - seen)
    sd = np.sqrt(spread / (d_model * max(d_model - 1, 1) * (d_model + 2))) / total
    share, null = 1 - within / total, 1 - seen / d_model
    return NullSpace(float(share), null, float((share - null) / sd) if sd > 0 else float("nan"))

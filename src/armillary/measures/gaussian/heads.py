"""What a head's low-rank maps keep of the mutual information of two tokens, and what its attention makes of it."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from armillary.measures.errors.leave_out import debiased
from armillary.measures.gaussian.distance import PairScatter, entropy_of, information_of, pair_scatter
from armillary.measures.gaussian.joint import row_space

RANDOM = 4
"""How many random maps of a head's rank stand beside it."""

States = Float[np.ndarray, "context position mode"]
Kept = Bool[np.ndarray, "context position"]
Groups = Int[np.ndarray, " context"]


class MixingGap(NamedTuple):
    """Entropy of a head's outputs and mutual information of neighbouring ones: with real weights, with their mean over
    windows held fixed, and the difference; nats. That of entropy has an error over documents."""

    entropy: float
    entropy_fixed: float
    entropy_gap: float
    entropy_gap_se: float
    information: float
    information_fixed: float
    information_gap: float


def kept_share(
    pairs: PairScatter, first: Float[np.ndarray, "d_head mode"], second: Float[np.ndarray, "d_head_ mode"]
) -> float:
    """I(Lx_t; Mx_{t+δ}) / I(x_t; x_{t+δ}), at most 1: the data-processing inequality; L and M rows by rank."""
    left, right = row_space(first), row_space(second)
    size = left.shape[1]
    whole = pairs.covariance
    blocks = [
        [left @ whole[:, :size, :size] @ left.T, left @ whole[:, :size, size:] @ right.T],
        [right @ whole[:, size:, :size] @ left.T, right @ whole[:, size:, size:] @ right.T],
    ]
    after = information_of(PairScatter(np.block(blocks), pairs.degrees), len(left))
    return float(debiased(after / information_of(pairs, size)).value)


def kept_at_random(pairs: PairScatter, rank: int, seed: int = 0) -> float:
    """The same for random maps of this rank, one for both tokens: mean of 4."""
    size = pairs.covariance.shape[-1] // 2
    maps = np.random.default_rng(seed).standard_normal((RANDOM, rank, size))
    return float(np.mean([kept_share(pairs, map, map) for map in maps]))


def mixing_gap(outputs: States, fixed: States, kept: Kept, group: Groups) -> MixingGap:
    """Real outputs of attention beside those with fixed weights, for both of which the Gaussian formulas are the same.

    With fixed weights the covariance of outputs is Σ_ij A_ki A_lj Σ_ij exactly, whatever the law of the values. The
    difference is what it costs to take the weights for fixed. Neighbours are one token apart.
    """
    size = outputs.shape[2]
    real, held = (pair_scatter(part, part, kept, group, 1) for part in (outputs, fixed))
    sets = {
        "entropy": [entropy_of(pairs, size) for pairs in (real, held)],
        "information": [information_of(pairs, size) for pairs in (real, held)],
    }
    values: dict[str, float] = {}
    for name, (with_real, with_fixed) in sets.items():
        values |= {name: float(debiased(with_real).value), f"{name}_fixed": float(debiased(with_fixed).value)}
        values[f"{name}_gap"] = values[f"{name}_fixed"] - values[name]
    error = debiased(sets["entropy"][1] - sets["entropy"][0]).se
    return MixingGap(**values, entropy_gap_se=float(error))

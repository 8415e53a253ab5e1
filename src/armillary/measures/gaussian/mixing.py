"""A joint Gaussian after one pass of attention with fixed weights: covariances, entropy and mutual information.

After Wertich, section 7.1. With fixed weights an output Σ_j A_kj x_j is a linear combination and Gaussian, not a
mixture. Real weights depend on the tokens that they mix, and the formulas then fail: `probes` shows by how much.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from armillary.measures.gaussian.information import Gaussian, gaussian_entropy, mutual_information
from armillary.measures.gaussian.joint import mapped

Weights = Float[np.ndarray, " key"]
Lagged = Float[np.ndarray, "distance mode mode_"]


class Mixed(NamedTuple):
    """Entropies of two outputs of attention, and their mutual information, in nats."""

    entropy: float
    entropy_other: float
    information: float


def mixed_law(law: Gaussian, pattern: Float[np.ndarray, "query key"]) -> Gaussian:
    """The law of all outputs of attention with fixed weights, from the law of all tokens in their order: A ⊗ I."""
    modes = len(law.mean) // pattern.shape[1]
    return mapped(law, np.kron(pattern, np.eye(modes)))


def lag_weights(first: Weights, second: Weights) -> tuple[Weights, Weights]:
    """Σ_i a_i b_{i+δ} and Σ_i a_{i+δ} b_i for δ = 0, 1, …: how much two outputs see of every distance."""
    size = len(first)
    every = np.correlate(second, first, mode="full")
    return every[size - 1 :], every[size - 1 :: -1]


def mixed_covariance(first: Weights, second: Weights, lagged: Lagged) -> Float[np.ndarray, "mode mode_"]:
    """Cov(Σ a_i x_i, Σ b_j x_j) = Σ_ij a_i b_j Σ_ij of a stationary text, from Γ_δ = Cov(x_i, x_{i+δ}), δ = 0, 1, ….

    The T² blocks are never formed: only their T distances count.
    """
    ahead, behind = lag_weights(first, second)
    forward = np.tensordot(ahead, lagged, axes=1)
    return np.asarray(forward + np.tensordot(behind[1:], lagged[1:], axes=1).T)


def mixed_information(first: Weights, second: Weights, lagged: Lagged) -> Mixed:
    """Entropies and mutual information of two outputs of attention with fixed weights over a stationary text."""
    own, other = mixed_covariance(first, first, lagged), mixed_covariance(second, second, lagged)
    across = mixed_covariance(first, second, lagged)
    both = np.block([[own, across], [across.T, other]])
    return Mixed(gaussian_entropy(own), gaussian_entropy(other), mutual_information(both, len(own)))

"""The regulariser of Bao et al., section 6: κ₁ tr(MᵀM) + κ₂ (tr M − 1)², M = W_Qᵀ W_K, and its gradients."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Weights = Float[np.ndarray, "d_head d_model"]


class PenaltyGradient(NamedTuple):
    """Gradients in W_Q and W_K of one term of the penalty."""

    W_Q: Weights
    W_K: Weights


def scale_penalty(W_Q: Weights, W_K: Weights) -> float:
    """tr(MᵀM): the scale of the spectrum."""
    return float(np.sum((W_Q.T @ W_K) ** 2))


def trace_penalty(W_Q: Weights, W_K: Weights) -> float:
    """(tr M − 1)²: how far the mean of the spectrum is from its target."""
    return float((np.sum(W_Q * W_K) - 1) ** 2)


def scale_gradient(W_Q: Weights, W_K: Weights) -> PenaltyGradient:
    """2 W_K W_Kᵀ W_Q and 2 W_Q W_Qᵀ W_K: the gradient of tr(MᵀM), as published."""
    return PenaltyGradient(2 * W_K @ W_K.T @ W_Q, 2 * W_Q @ W_Q.T @ W_K)


def trace_gradient(W_Q: Weights, W_K: Weights) -> PenaltyGradient:
    """2 (tr M − 1) W_K and 2 (tr M − 1) W_Q: the gradient of (tr M − 1)²."""
    slope = 2 * (float(np.sum(W_Q * W_K)) - 1)
    return PenaltyGradient(slope * W_K, slope * W_Q)


def trace_gradient_published(W_Q: Weights, W_K: Weights) -> PenaltyGradient:
    """(tr M − 1) tr M W_K and (tr M − 1) tr M W_Q, as published: off by tr M/2, with a fixed point at tr M = 0."""
    trace = float(np.sum(W_Q * W_K))
    slope = (trace - 1) * trace
    return PenaltyGradient(slope * W_K, slope * W_Q)


def penalty_optimum(kappa_scale: float, kappa_trace: float, d_model: int) -> float:
    """c of M = cI, where the penalty alone is least: κ₂/(κ₁ + d κ₂); the scale there is d c², which grows with κ₂."""
    return kappa_trace / (kappa_scale + d_model * kappa_trace)

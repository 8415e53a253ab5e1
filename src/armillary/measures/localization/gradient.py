"""The gradient of a one-layer transformer with the piecewise linear softmax in W_QK: equation (3) of Bao et al."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from armillary.measures.localization.softmax import piecewise_softmax, tangent

States = Float[np.ndarray, "position d_model"]
Square = Float[np.ndarray, "d_model d_model_"]
Vector = Float[np.ndarray, " d_model"]


class GradientTerms(NamedTuple):
    """The three terms of (3) for one sequence, in units of the loss over W_QK; their sum is the gradient."""

    first: Square
    second: Square
    third: Square


class GradientNorms(NamedTuple):
    """Frobenius norms of (3), averaged over sequences, and of its three terms."""

    total: float
    first: float
    second: float
    third: float


def piecewise_loss(states: States, target: Vector, W_QK: Square, W_V: Square, W_F: Square, temperature: float) -> float:
    """½ |y − F(X)_T|², F = W_F (W_V X S̃(ω) + x_T), ω = Xᵀ W_QK x_T/λ; tokens are rows of `states`."""
    shares = piecewise_softmax(states @ W_QK @ states[-1] / temperature)
    output = W_F @ (W_V @ (states.T @ shares) + states[-1])
    return float(0.5 * np.sum((target - output) ** 2))


def gradient_terms(
    states: States, target: Vector, W_QK: Square, W_V: Square, W_F: Square, temperature: float
) -> GradientTerms:
    """X Γ P Γᵀ Xᵀ W_QK x_T x_Tᵀ/λ², X Γ P γ̃₀ x_Tᵀ/λ and X Γ q x_Tᵀ/λ, as published.

    Right where no token sits at a kink. Γ has a column γ^i for every token whose share lies between 0 and 1, and zeros
    for the others.
    """
    last = states[-1]
    slopes, constants = active_slopes(states @ W_QK @ last / temperature)
    inner = W_V.T @ W_F.T @ W_F @ W_V
    reach = states.T @ slopes
    through = reach @ states @ inner
    return GradientTerms(
        first=np.outer(through @ (states.T @ (slopes.T @ (states @ (W_QK @ last)))), last) / temperature**2,
        second=np.outer(through @ (states.T @ constants), last) / temperature,
        third=np.outer(reach @ (states @ (W_V.T @ W_F.T @ (W_F @ last - target))), last) / temperature,
    )


def gradient_terms_by_index(
    states: States, target: Vector, W_QK: Square, W_V: Square, W_F: Square, temperature: float
) -> GradientTerms:
    """The same by the sums over tokens of (19), (20) and (21)."""
    last = states[-1]
    slopes, constants = active_slopes(states @ W_QK @ last / temperature)
    inner = W_V.T @ W_F.T @ W_F @ W_V
    pairs = states @ inner @ states.T
    scores, outer = states @ W_QK @ last, states[:, :, None] * last
    error = states @ W_V.T @ W_F.T @ (W_F @ last - target)
    return GradientTerms(
        first=np.einsum("ai,bj,ij,b,apq->pq", slopes, slopes, pairs, scores, outer, optimize=True) / temperature**2,
        second=np.einsum("ai,b,ib,apq->pq", slopes, constants, pairs, outer, optimize=True) / temperature,
        third=np.einsum("ai,i,apq->pq", slopes, error, outer, optimize=True) / temperature,
    )


def active_slopes(
    scores: Float[np.ndarray, " position"],
) -> tuple[Float[np.ndarray, "position position_"], Float[np.ndarray, " position"]]:
    """Γ, whose column i is γ^i = e_i/T − 1/T² or zero, and the constants γ̃₀, 1/T, 0 or 1."""
    length, values = len(scores), tangent(scores)
    active = (values >= 0) & (values <= 1)
    slopes = (np.eye(length) / length - 1 / length**2) * active
    return slopes, np.where(active, 1 / length, (values > 1).astype(np.float64))


def gradient_norms(
    states: Float[np.ndarray, "context position d_model"],
    scores: Float[np.ndarray, "context position"],
    moved: Float[np.ndarray, "context position d_model"],
    missed: Float[np.ndarray, "context d_model"],
    temperature: float,
) -> GradientNorms:
    """How large (3) and its terms are, mean over sequences, without a matrix of d_model².

    `scores` are ω, λ counted, `moved` W_F W_V x_i, `missed` W_F x_T − y. Every term is the mean of u x_Tᵀ.
    """
    length, values = scores.shape[-1], tangent(scores)
    active = ((values >= 0) & (values <= 1)).astype(np.float64)
    constants = np.where(active > 0, 1 / length, values > 1)

    def reached(shares: Float[np.ndarray, "context position"]) -> Float[np.ndarray, "context d_model"]:
        held = active * shares
        slopes = held / length - held.sum(-1, keepdims=True) / length**2
        return np.einsum("ctd,ct->cd", states, slopes) / temperature

    def paired(shares: Float[np.ndarray, "context position"]) -> Float[np.ndarray, "context position"]:
        return np.einsum("ctd,cd->ct", moved, np.einsum("ctd,ct->cd", moved, shares))

    centred = active * (scores - scores.mean(-1, keepdims=True)) / length
    shares = (paired(centred), paired(constants), np.einsum("ctd,cd->ct", moved, missed))
    terms = np.stack([reached(part) for part in shares])
    last = states[:, -1] @ states[:, -1].T
    norms = [float(np.sqrt(max(0.0, np.sum(u @ u.T * last)))) / len(states) for u in (terms.sum(0), *terms)]
    return GradientNorms(*norms)

"""W_QK under RoPE: its spectrum at a relative distance, and how much energy each rotated plane holds."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class DistanceSpectrum(NamedTuple):
    """Of W_QK(Δ) = scale · W_Q R_Δ W_Kᵀ at each distance Δ: singular values, trace, trace of the square."""

    singular_value_qk_distance: Float[np.ndarray, "distance mode"]
    trace_qk_distance: Float[np.ndarray, " distance"]
    trace_square_qk_distance: Float[np.ndarray, " distance"]


def distance_spectrum(
    R_Q: Float[np.ndarray, "d_head d_head_"],
    R_K: Float[np.ndarray, "d_head d_head_"],
    inner_qk: Float[np.ndarray, "d_head d_head_"],
    scale: float,
    turns: Float[np.ndarray, "distance d_head d_head_"],
) -> DistanceSpectrum:
    """The spectrum of W_QK at each distance; `turns` are the model's own rotations R_Δ, acting on row vectors.

    A query Δ tokens after a key meets it as x W_Q R_Δ W_Kᵀ yᵀ. R_Δ lives in d_head dimensions: R_Q R_Δ R_Kᵀ has the
    singular values, W_Kᵀ W_Q R_Δ the traces.
    """
    inner = scale * inner_qk @ turns
    return DistanceSpectrum(
        singular_value_qk_distance=np.linalg.svd(scale * R_Q @ turns @ R_K.T, compute_uv=False),
        trace_qk_distance=np.trace(inner, axis1=1, axis2=2),
        trace_square_qk_distance=np.einsum("nij,nji->n", inner, inner),
    )


def rotary_energy(
    W_Q: Float[np.ndarray, "d_model d_head"], W_K: Float[np.ndarray, "d_model d_head"], rotated: int
) -> Float[np.ndarray, " plane"]:
    """Share of ‖W_Q,p‖ ‖W_K,p‖ that each plane p of RoPE holds, fastest first; they add up to 1 (Barbero and others).

    RoPE turns the first `rotated` coordinates of a head: coordinate p and coordinate p + rotated/2 make plane p. NaN
    for a head that is zero there.
    """
    norms = []
    for W in (W_Q, W_K):
        squares = np.sum(W[:, :rotated].astype(np.float64) ** 2, axis=0)
        norms.append(np.sqrt(squares.reshape(2, -1).sum(axis=0)))
    energy = norms[0] * norms[1]
    total = energy.sum()
    return energy / total if total > 0 else np.full_like(energy, np.nan)

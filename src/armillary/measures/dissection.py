"""What a head's weights are made of: a block on the position directions, a diagonal, a residual.

Song & Zhong, equation (9): W = V L Vᵀ + D + noise, with W = W_Q W_Kᵀ times the scale of the scores.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Factor = Float[np.ndarray, "d_model d_head"]
Frame = Float[np.ndarray, "d_model mode"]
NullFrame = Float[np.ndarray, "d_model mode_"]


class Dissection(NamedTuple):
    """Shares of ‖W‖² and counts of large entries, each beside what a random frame gives.

    energy_position, energy_diagonal and energy_residual add up to 1. `threshold` is in units of W. The counts are
    entries of the off-diagonal part, rotated into the position frame, above the threshold: inside the leading block,
    and elsewhere; their nulls are how many entries of a randomly rotated matrix pass on average.
    """

    energy_position: float
    energy_position_null: float
    energy_diagonal: float
    energy_diagonal_null: float
    energy_residual: float
    threshold: float
    survivors_position: float
    survivors_position_null: float
    survivors_elsewhere: float
    survivors_elsewhere_null: float


def position_frame(position_basis: Float[np.ndarray, "position d_model"]) -> Float[np.ndarray, "d_model mode"]:
    """Right singular vectors of the position basis, the strongest first, completed to a basis of the whole space."""
    return np.linalg.svd(position_basis.astype(np.float64, copy=False), full_matrices=True)[2].T


def random_frame(d_model: int, modes: int, seed: int) -> Float[np.ndarray, "d_model mode"]:
    """`modes` orthonormal directions drawn evenly from all (Haar): columns of the Q of a Gaussian matrix.

    The signs that QR leaves to chance do not matter here: only squares and sizes of entries are used.
    """
    gaussian = np.random.default_rng(seed).standard_normal((d_model, modes))
    return np.linalg.qr(gaussian)[0]


def dissection(
    W_Q: Factor, W_K: Factor, frame: Frame, null_frame: NullFrame, rank: int = 20, level: float = 0.999
) -> Dissection:
    """Energy in the position block, on the diagonal and in the residual, as shares of ‖W‖²; large entries counted.

    D is the diagonal of W, A = W − D. The block is L = V_Kᵀ A V_K for the first `rank` columns of `frame`, its energy
    ‖L‖² / ‖W‖²; the diagonal has ‖D‖² / ‖W‖². Rotation keeps ‖A‖, so block, diagonal and residual add up to 1.

    The null is a matrix of the same spectrum in a random frame. Its mean energies are known in closed form: for a unit
    vector u drawn evenly E (uᵀAu)² = (tr²A + ‖A‖² + tr A²) / (d(d + 2)). The threshold is the quantile `level` of the
    sizes of the entries of A in `null_frame`, so that 1 − level of the entries pass if the frame means nothing. A
    multiple of the identity is diagonal in every frame: its energy is in energy_diagonal and in its null alike. Give
    W_Q times the scale to have W in units of the scores. Under rotary positions W is what a token sees at distance 0.
    """
    diagonal = np.einsum("ih,ih->i", W_Q, W_K)
    total = _square(W_Q, W_K)
    off = total - np.sum(diagonal**2)
    if not total > 0:
        return Dissection(*[float("nan")] * len(Dissection._fields))
    threshold = float(np.quantile(np.abs(_rotated(W_Q, W_K, diagonal, null_frame)), level))
    rotated = _rotated(W_Q, W_K, diagonal, frame)
    block = rotated[:rank, :rank]
    large, large_block = np.sum(np.abs(rotated) > threshold), np.sum(np.abs(block) > threshold)
    d_model, width = len(W_Q), len(block)
    trace_square = _trace_square(W_Q, W_K)
    one = (diagonal.sum() ** 2 + total + trace_square) / (d_model * (d_model + 2))
    energies = np.sum(block**2), _block_null(off, trace_square - np.sum(diagonal**2), d_model, width)
    return Dissection(
        energy_position=float(energies[0] / total),
        energy_position_null=float(energies[1] / total),
        energy_diagonal=float(np.sum(diagonal**2) / total),
        energy_diagonal_null=float(d_model * one / total),
        energy_residual=float((off - energies[0]) / total),
        threshold=threshold,
        survivors_position=float(large_block),
        survivors_position_null=(1 - level) * width**2,
        survivors_elsewhere=float(large - large_block),
        survivors_elsewhere_null=(1 - level) * (rotated.size - width**2),
    )


def _square(W_Q: Factor, W_K: Factor) -> float:
    """‖W_Q W_Kᵀ‖² without forming the product."""
    return float(np.sum((W_Q.T @ W_Q) * (W_K.T @ W_K)))


def _trace_square(W_Q: Factor, W_K: Factor) -> float:
    """tr (W_Q W_Kᵀ)² without forming the product."""
    inner = W_K.T @ W_Q
    return float(np.sum(inner * inner.T))


def _rotated(
    W_Q: Factor, W_K: Factor, diagonal: Float[np.ndarray, "d_model"], frame: Frame
) -> Float[np.ndarray, "mode mode_"]:
    """Fᵀ (W − D) F."""
    return (frame.T @ W_Q) @ (W_K.T @ frame) - (frame.T * diagonal) @ frame


def _block_null(square: float, trace_square: float, d_model: int, width: int) -> float:
    """Mean of ‖V_Kᵀ A V_K‖² over random frames, for A with an empty diagonal: ‖A‖² = square, tr A² = trace_square."""
    if d_model < 2:
        return square
    on = (square + trace_square) / (d_model * (d_model + 2))
    beside = (square - d_model * on) / (d_model * (d_model - 1))
    return width * on + width * (width - 1) * beside

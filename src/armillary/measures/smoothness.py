"""How smooth the Gram matrix of the position vectors is, and what Theorem 1 of Song & Zhong makes of it."""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.fft import dct, dctn

from armillary.measures.similarity import unit_vectors

Gram = Float[np.ndarray, "position position_"]


class Theorem1Residual(NamedTuple):
    """‖G − F B Bᵀ Fᵀ‖op / T for B from the projection on span F, and the least that any B leaves."""

    projected: float
    least: float


def gram(position_basis: Float[np.ndarray, "position d_model"]) -> Float[np.ndarray, "position position_"]:
    """Cosines between all pairs of position vectors: Song & Zhong, equation (5). NaN where a vector is zero."""
    unit = unit_vectors(position_basis)
    return unit @ unit.T


def spectrum_2d(matrix: Gram) -> Float[np.ndarray, "frequency frequency_"]:
    """Orthonormal DCT-II over both position axes of a matrix, which keeps Σ G² (Song & Zhong, section 3.2)."""
    return dctn(matrix.astype(np.float64, copy=False), type=2, norm="ortho")


def low_frequency_share(matrix: Gram, highest: int = 20) -> Float[np.ndarray, "frequency"]:
    """Share of the energy Σ Ĝ² in frequencies 0..K of both axes, for K = 0..highest: r_K of Song & Zhong's Table 3.

    Counted from 0: the paper's K-th is our K − 1 for a reader who counts from 1. A matrix without energy has no share:
    NaN. A matrix with T ≤ highest positions holds all its energy from K = T − 1 on. The Gram of T independent
    directions in d dimensions gives about n(1 + n/d) / (T(1 + T/d)), n = K + 1.
    """
    energy = spectrum_2d(matrix) ** 2
    total = energy.sum()
    corners = np.diagonal(energy[: highest + 1, : highest + 1].cumsum(axis=0).cumsum(axis=1))
    corners = np.pad(corners, (0, highest + 1 - len(corners)), mode="edge")
    return corners / (total if total > 0 else np.nan)


def finite_difference(gram: Gram, order: int) -> Float[np.ndarray, "reflected reflected_"]:
    """Δ^(m,m) of the reflected Gram matrix, with T² per order: Song & Zhong, equations (6) and (7).

    The reflection makes G periodic and even, of size 2T. Rounding grows by 4T² per order: at T = 256 float64 is used up
    at m = 5, and the maximum is then that of the rounding, far above the truth: a bound made of it is loose, not wrong.
    """
    half = np.concatenate([gram.astype(np.float64, copy=False), gram[:, ::-1]], axis=1)
    difference = np.concatenate([half, half[::-1]], axis=0)
    for _ in range(order):
        difference = difference - np.roll(difference, 1, axis=0)
        difference = (difference - np.roll(difference, 1, axis=1)) * len(gram) ** 2
    return difference


def theorem1_bound_published(gram: Gram, k: int, order: int) -> float:
    """6/(8k)^m · ‖Δ^(m,m)‖max: Theorem 1 of Song & Zhong as printed, for its printed basis."""
    return float(6 / (8 * k) ** order * np.abs(finite_difference(gram, order)).max())


def theorem1_bound_corrected(gram: Gram, k: int, order: int) -> float:
    """2[2(g₁g_k)^m + g_k^2m] · ‖Δ^(m,m)‖max, g_j = 1/(2T sin(πj/2T)): Theorem 1 proved again, for the DCT-II basis.

    On the Fourier side of the reflected matrix a difference is a factor 1/g_j, so outside the k lowest frequencies the
    entries of Δ count at most (g₁g_k)^m twice and g_k^2m once. Holds only if the vectors behind G sum to zero: unit
    vectors in general do not (the printed "by definition" is wrong), and then frequency 0 escapes every bound.
    """
    positions = len(gram)
    lowest, cut = 1 / (2 * positions * np.sin(np.pi * np.array([1, k]) / (2 * positions)))
    factor = 2 * (2 * (lowest * cut) ** order + cut ** (2 * order))
    return float(factor * np.abs(finite_difference(gram, order)).max())


def theorem1_residual(gram: Gram, k: int, basis: Literal["corrected", "published"] = "corrected") -> Theorem1Residual:
    """What k low frequencies leave of a Gram matrix, operator norm over T: the left side of Theorem 1.

    projected = ‖G − ΠGΠ‖/T with Π the projection on the basis (ΠGΠ = F B Bᵀ Fᵀ for some B, as G has no negative
    eigenvalue). least = ‖(1 − Π)G‖/T: no B leaves less, since F B Bᵀ Fᵀ never meets those entries. The theorem is true
    of a matrix if projected ≤ bound, false if least > bound.
    """
    frequencies = cosines(len(gram), k) if basis == "corrected" else cosines_published(len(gram), k)
    frame = np.linalg.qr(frequencies)[0]
    kept = frame @ (frame.T @ gram)
    projected = np.linalg.norm(gram - kept @ frame @ frame.T, 2)
    least = np.linalg.norm(gram - kept, 2)
    return Theorem1Residual(float(projected / len(gram)), float(least / len(gram)))


def cosines(positions: int, k: int) -> Float[np.ndarray, "position frequency"]:
    """The k lowest DCT-II vectors cos((s − 1)(t − ½)π/T), s = 1..k, as columns of length 1."""
    return np.ascontiguousarray(dct(np.eye(positions), type=2, norm="ortho", axis=0)[:k].T)


def cosines_published(positions: int, k: int) -> Float[np.ndarray, "position frequency"]:
    """The vectors f_s(t) = cos((s − ½)(t − 1)π/T) of Theorem 1 as printed, s and t exchanged; not normalised."""
    return np.cos(np.outer(np.arange(positions), np.arange(k) + 0.5) * np.pi / positions)


def sinusoidal_encoding(positions: int, d_model: int) -> Float[np.ndarray, "position d_model"]:
    """Position encoding of Vaswani et al. (2017), section 3.5: rows of squared norm d_model/2, a Toeplitz Gram.

    Dimensions 2j and 2j + 1 of row t are the sine and cosine of t/10000^(2j/d_model), t from 0.
    """
    pair = np.arange(d_model) // 2 * 2
    return _sines_and_cosines(np.arange(positions)[:, None] / 10000 ** (pair / d_model))


def sinusoidal_encoding_published(positions: int, d_model: int) -> Float[np.ndarray, "position d_model"]:
    """Appendix B.1 of Song & Zhong as printed: exponent 2i/d_model with i the full index; no two waves pair up."""
    return _sines_and_cosines(np.arange(positions)[:, None] / 10000 ** (2 * np.arange(d_model) / d_model))


def _sines_and_cosines(angles: Float[np.ndarray, "position d_model"]) -> Float[np.ndarray, "position d_model"]:
    return np.where(np.arange(angles.shape[1]) % 2 == 0, np.sin(angles), np.cos(angles))

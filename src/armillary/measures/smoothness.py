"""How smooth the Gram matrix of the position vectors is, and what Theorem 1 of Song & Zhong makes of it."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.fft import dctn

from armillary.measures.similarity import unit_vectors

Gram = Float[np.ndarray, "position position_"]


HIGHEST = 20
"""Shares of the energy are given for frequencies up to this one."""

ORDERS = 4
"""Differences of higher order are beyond float64 for windows of 256."""

FREQUENCIES = 10
"""k of Theorem 1: how many of the lowest frequencies a Gram matrix is set against."""


class Smoothness(NamedTuple):
    """Gram matrix of the position vectors, its share of low frequencies, its differences, and Theorem 1."""

    gram: Float[np.ndarray, "position position_"]
    low_frequency_share: Float[np.ndarray, "frequency"]
    low_frequency_share_low: Float[np.ndarray, "frequency"]
    low_frequency_share_high: Float[np.ndarray, "frequency"]
    low_frequency_share_null: Float[np.ndarray, "frequency"]
    difference_max: Float[np.ndarray, "order"]
    theorem1_residual: float
    theorem1_bound: Float[np.ndarray, "order"]
    theorem1_residual_published: float
    theorem1_bound_published: Float[np.ndarray, "order"]


class Theorem1Residual(NamedTuple):
    """‖G − F B Bᵀ Fᵀ‖op / T for B from the projection on span F, and the least that any B leaves."""

    projected: float
    least: float


def smoothness(
    position_basis: Float[np.ndarray, "position d_model"],
    position_null: Float[np.ndarray, "position d_model"],
    position_folds: Float[np.ndarray, "fold position d_model"],
    group: Int[np.ndarray, "context"],
) -> Smoothness:
    """How smooth the position vectors are along the window: everything that their Gram matrix says.

    low and high are the lowest and highest share when one fold of documents is left out, null is the share of the
    circularly shifted windows. difference_max is the largest |Δ^(m,m)| for m = 1..4. Theorem 1 for k = 10: residual ≤
    bound; the published basis and bound stand beside the corrected ones (the residual is then the least that any B
    leaves).
    """
    own = gram(position_basis)
    maxima = np.array([np.abs(difference).max() for difference in differences(own, ORDERS)])
    k = min(FREQUENCIES, len(own) - 1)
    without = [basis_share(basis) for basis in leave_one_out(position_folds, group)]
    without = without or [np.full(HIGHEST + 1, np.nan)]
    orders = range(1, ORDERS + 1)
    return Smoothness(
        gram=own.astype(np.float32),
        low_frequency_share=basis_share(position_basis),
        low_frequency_share_low=np.min(without, 0),
        low_frequency_share_high=np.max(without, 0),
        low_frequency_share_null=basis_share(position_null),
        difference_max=maxima,
        theorem1_residual=projected_residual(own, basis_frame(len(own), k)),
        theorem1_bound=maxima * [corrected_factor(len(own), k, m) for m in orders],
        theorem1_residual_published=least_residual(own, basis_frame(len(own), k, "published")),
        theorem1_bound_published=maxima * [6 / (8 * k) ** m for m in orders],
    )


def leave_one_out(
    position_folds: Float[np.ndarray, "fold position d_model"], group: Int[np.ndarray, " context"]
) -> list[Float[np.ndarray, "position d_model"]]:
    """The position basis without each fold of documents, in the folds' own precision; nothing with a single fold."""
    if len(position_folds) < 2:
        return []
    weights = (np.bincount(group % len(position_folds)) / len(group)).astype(position_folds.dtype)
    whole = np.tensordot(weights, position_folds, 1)
    without = [whole - weight * fold for weight, fold in zip(weights, position_folds, strict=True)]
    return [basis - basis.mean(0, dtype=np.float64).astype(basis.dtype) for basis in without]


def basis_share(position_basis: Float[np.ndarray, "position d_model"]) -> Float[np.ndarray, " frequency"]:
    """`low_frequency_share` of the Gram matrix of the vectors, from the cosine transform of the vectors themselves.

    In the vectors' own precision: ten of these are asked for in every layer, and a share needs no more.
    """
    norms = np.sqrt(np.einsum("td,td->t", position_basis, position_basis))
    unit = position_basis / np.where(norms > 0, norms, np.nan).astype(position_basis.dtype)[:, None]
    low = cosines(len(unit), min(HIGHEST + 1, len(unit))).T.astype(unit.dtype) @ unit
    total = np.sum((unit @ unit.T) ** 2, dtype=np.float64)
    return _corner_shares((low @ low.T).astype(np.float64) ** 2, float(total), HIGHEST)


def low_frequency_share_sinusoidal(
    position_basis: Float[np.ndarray, "layer position d_model"],
) -> Float[np.ndarray, "frequency"]:
    """The share of low frequencies of the fixed sinusoidal encoding of the same shape: a row to compare with.

    It is mean-centred over positions, as every position basis is.
    """
    encoding = sinusoidal_encoding(*position_basis.shape[1:])
    return basis_share(encoding - encoding.mean(0))


def gram(position_basis: Float[np.ndarray, "position d_model"]) -> Float[np.ndarray, "position position_"]:
    """Cosines between all pairs of position vectors: Song & Zhong, equation (5). NaN where a vector is zero."""
    unit = unit_vectors(position_basis)
    return unit @ unit.T


def spectrum_2d(matrix: Gram) -> Float[np.ndarray, "frequency frequency_"]:
    """Orthonormal DCT-II over both position axes of a matrix, which keeps Σ G² (Song & Zhong, section 3.2)."""
    return dctn(matrix.astype(np.float64, copy=False), type=2, norm="ortho")


def low_frequency_share(matrix: Gram, highest: int = HIGHEST) -> Float[np.ndarray, "frequency"]:
    """Share of the energy Σ Ĝ² in frequencies 0..K of both axes, for K = 0..highest: r_K of Song & Zhong's Table 3.

    Counted from 0: the paper's K-th is our K − 1 for a reader who counts from 1. A matrix without energy has no share:
    NaN. A matrix with T ≤ highest positions holds all its energy from K = T − 1 on. The Gram of T independent
    directions in d dimensions gives about n(1 + n/d) / (T(1 + T/d)), n = K + 1.
    """
    energy = spectrum_2d(matrix) ** 2
    return _corner_shares(energy[: highest + 1, : highest + 1], float(energy.sum()), highest)


def _corner_shares(
    energy: Float[np.ndarray, "low low_"], total: float, highest: int
) -> Float[np.ndarray, " frequency"]:
    """What share of a total lies in the corner 0..K of both axes, for K = 0..highest."""
    corners = np.diagonal(energy.cumsum(axis=0).cumsum(axis=1))
    corners = np.pad(corners, (0, highest + 1 - len(corners)), mode="edge")
    return corners / (total if total > 0 else np.nan)


def finite_difference(gram: Gram, order: int) -> Float[np.ndarray, "reflected reflected_"]:
    """Δ^(m,m) of the reflected Gram matrix, with T² per order: Song & Zhong, equations (6) and (7).

    The reflection makes G periodic and even, of size 2T. Rounding grows by 4T² per order: at T = 256 float64 is used up
    at m = 5, and the maximum is then that of the rounding, far above the truth: a bound made of it is loose, not wrong.
    """
    *_, last = [reflected(gram), *differences(gram, order)]
    return last


def differences(gram: Gram, orders: int) -> Iterator[Float[np.ndarray, "reflected reflected_"]]:
    """Δ^(m,m) for m = 1, 2, ..., each from the one before."""
    difference = reflected(gram)
    for _ in range(orders):
        difference = difference - np.roll(difference, 1, axis=0)
        difference = (difference - np.roll(difference, 1, axis=1)) * len(gram) ** 2
        yield difference


def reflected(gram: Gram) -> Float[np.ndarray, "reflected reflected_"]:
    """The Gram matrix with its mirror image on both axes: periodic and even."""
    half = np.concatenate([gram.astype(np.float64, copy=False), gram[:, ::-1]], axis=1)
    return np.concatenate([half, half[::-1]], axis=0)


def theorem1_bound_published(gram: Gram, k: int, order: int) -> float:
    """6/(8k)^m · ‖Δ^(m,m)‖max: Theorem 1 of Song & Zhong as printed, for its printed basis."""
    return float(6 / (8 * k) ** order * np.abs(finite_difference(gram, order)).max())


def theorem1_bound_corrected(gram: Gram, k: int, order: int) -> float:
    """2[2(g₁g_k)^m + g_k^2m] · ‖Δ^(m,m)‖max, g_j = 1/(2T sin(πj/2T)): Theorem 1 corrected, for the DCT-II basis.

    On the Fourier side of the reflected matrix a difference is a factor 1/g_j, so outside the k lowest frequencies the
    entries of Δ count at most (g₁g_k)^m twice and g_k^2m once. Holds only if the vectors behind G sum to zero: unit
    vectors in general do not (the printed "by definition" is wrong), and then frequency 0 escapes every bound.
    """
    return corrected_factor(len(gram), k, order) * float(np.abs(finite_difference(gram, order)).max())


def corrected_factor(positions: int, k: int, order: int) -> float:
    """2[2(g₁g_k)^m + g_k^2m], what the largest difference counts in the corrected bound."""
    lowest, cut = 1 / (2 * positions * np.sin(np.pi * np.array([1, k]) / (2 * positions)))
    return float(2 * (2 * (lowest * cut) ** order + cut ** (2 * order)))


def theorem1_residual(gram: Gram, k: int, basis: Literal["corrected", "published"] = "corrected") -> Theorem1Residual:
    """What k low frequencies leave of a Gram matrix, operator norm over T: the left side of Theorem 1.

    projected = ‖G − ΠGΠ‖/T with Π the projection on the basis (ΠGΠ = F B Bᵀ Fᵀ for some B, as G has no negative
    eigenvalue). least = ‖(1 − Π)G‖/T: no B leaves less, since F B Bᵀ Fᵀ never meets those entries. The theorem is true
    of a matrix if projected ≤ bound, false if least > bound.
    """
    frame = basis_frame(len(gram), k, basis)
    return Theorem1Residual(projected_residual(gram, frame), least_residual(gram, frame))


Frame = Float[np.ndarray, "position frequency"]


@lru_cache(maxsize=8)
def basis_frame(positions: int, k: int, basis: Literal["corrected", "published"] = "corrected") -> Frame:
    """An orthonormal frame of the span of k low frequencies."""
    return np.linalg.qr(cosines(positions, k) if basis == "corrected" else cosines_published(positions, k))[0]


def projected_residual(gram: Gram, frame: Frame) -> float:
    """‖G − ΠGΠ‖op / T, Π the projection on the frame."""
    rest = gram - frame @ (frame.T @ gram @ frame) @ frame.T
    return float(np.abs(np.linalg.eigvalsh(rest)[[0, -1]]).max() / len(gram))


def least_residual(gram: Gram, frame: Frame) -> float:
    """‖(1 − Π)G‖op / T, Π the projection on the frame."""
    rest = gram - frame @ (frame.T @ gram)
    return float(np.sqrt(max(np.linalg.eigvalsh(rest @ rest.T)[-1], 0.0)) / len(gram))


@lru_cache(maxsize=8)
def cosines(positions: int, k: int) -> Float[np.ndarray, "position frequency"]:
    """The k lowest DCT-II vectors cos((s − 1)(t − ½)π/T), s = 1..k, as columns of length 1."""
    waves = np.cos(np.outer(np.arange(positions) + 0.5, np.arange(k)) * (np.pi / positions))
    return waves * np.sqrt(np.where(np.arange(k) == 0, 1, 2) / positions)


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

"""Spectra of W_QK and W_VO, head by head, from factors of d_head × d_head: values of the full products, exactly."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class QKSpectrum(NamedTuple):
    """Of W_QK = scale · W_Q W_Kᵀ: singular values, non-zero eigenvalues by size, traces, Frobenius norm."""

    singular_value_qk: Float[np.ndarray, " mode"]
    eigenvalue_qk_real: Float[np.ndarray, " mode"]
    eigenvalue_qk_imag: Float[np.ndarray, " mode"]
    trace_qk: float
    trace_square_qk: float
    frobenius_qk: float
    eigenvalue_mean_qk: float
    eigenvalue_variance_qk: float


class QKSpectrumFolded(NamedTuple):
    """The same with the norm before the attention folded in."""

    singular_value_qk_folded: Float[np.ndarray, " mode"]
    eigenvalue_qk_folded_real: Float[np.ndarray, " mode"]
    eigenvalue_qk_folded_imag: Float[np.ndarray, " mode"]
    trace_qk_folded: float
    trace_square_qk_folded: float
    frobenius_qk_folded: float
    eigenvalue_mean_qk_folded: float
    eigenvalue_variance_qk_folded: float


class VOSpectrum(NamedTuple):
    """Of W_VO = W_V W_O."""

    singular_value_vo: Float[np.ndarray, " mode"]
    eigenvalue_vo_real: Float[np.ndarray, " mode"]
    eigenvalue_vo_imag: Float[np.ndarray, " mode"]
    trace_vo: float
    trace_square_vo: float
    frobenius_vo: float
    eigenvalue_mean_vo: float
    eigenvalue_variance_vo: float


class VOSpectrumFolded(NamedTuple):
    """The same with the norm before the attention folded in."""

    singular_value_vo_folded: Float[np.ndarray, " mode"]
    eigenvalue_vo_folded_real: Float[np.ndarray, " mode"]
    eigenvalue_vo_folded_imag: Float[np.ndarray, " mode"]
    trace_vo_folded: float
    trace_square_vo_folded: float
    frobenius_vo_folded: float
    eigenvalue_mean_vo_folded: float
    eigenvalue_variance_vo_folded: float


class DataSpectrum(NamedTuple):
    """Of W_QK Σ, Σ the covariance of the attention's input: non-zero eigenvalues and traces."""

    eigenvalue_qk_data_real: Float[np.ndarray, " mode"]
    eigenvalue_qk_data_imag: Float[np.ndarray, " mode"]
    trace_qk_data: float
    trace_square_qk_data: float


class FactorSpectra(NamedTuple):
    """Singular values of the four weights of a head."""

    singular_value_q: Float[np.ndarray, " mode"]
    singular_value_k: Float[np.ndarray, " mode"]
    singular_value_v: Float[np.ndarray, " mode"]
    singular_value_o: Float[np.ndarray, " mode"]


def qk_spectrum(
    R_Q: Float[np.ndarray, "d_head d_head_"],
    R_K: Float[np.ndarray, "d_head d_head_"],
    inner_qk: Float[np.ndarray, "d_head d_head_"],
    scale: float,
    d_model: int,
) -> QKSpectrum:
    """The spectrum of W_QK as stored, the scale of the scores counted; mean and variance over d_model eigenvalues."""
    return QKSpectrum(*product_spectrum(scale * R_Q @ R_K.T, scale * inner_qk, d_model))


def qk_spectrum_folded(
    R_Q_folded: Float[np.ndarray, "d_head d_head_"],
    R_K_folded: Float[np.ndarray, "d_head d_head_"],
    inner_qk_folded: Float[np.ndarray, "d_head d_head_"],
    scale: float,
    d_model: int,
) -> QKSpectrumFolded:
    """The spectrum of W_QK with the norm folded in."""
    return QKSpectrumFolded(*product_spectrum(scale * R_Q_folded @ R_K_folded.T, scale * inner_qk_folded, d_model))


def vo_spectrum(
    R_V: Float[np.ndarray, "d_head d_head_"],
    R_O: Float[np.ndarray, "d_head d_head_"],
    inner_vo: Float[np.ndarray, "d_head d_head_"],
    d_model: int,
) -> VOSpectrum:
    """The spectrum of W_VO as stored."""
    return VOSpectrum(*product_spectrum(R_V @ R_O.T, inner_vo, d_model))


def vo_spectrum_folded(
    R_V_folded: Float[np.ndarray, "d_head d_head_"],
    R_O: Float[np.ndarray, "d_head d_head_"],
    inner_vo_folded: Float[np.ndarray, "d_head d_head_"],
    d_model: int,
) -> VOSpectrumFolded:
    """The spectrum of W_VO with the norm folded in."""
    return VOSpectrumFolded(*product_spectrum(R_V_folded @ R_O.T, inner_vo_folded, d_model))


def data_spectrum(inner_qk_data: Float[np.ndarray, "d_head d_head_"], scale: float) -> DataSpectrum:
    """Eigenvalues and traces of W_QK Σ: those of scale · W_Kᵀ Σ W_Q."""
    inner = scale * inner_qk_data
    values = by_size(np.linalg.eigvals(inner))
    return DataSpectrum(values.real, values.imag, float(np.trace(inner)), float(np.sum(inner * inner.T)))


def factor_spectra(
    R_Q: Float[np.ndarray, "d_head d_head_"],
    R_K: Float[np.ndarray, "d_head d_head_"],
    R_V: Float[np.ndarray, "d_head d_head_"],
    R_O: Float[np.ndarray, "d_head d_head_"],
) -> FactorSpectra:
    """Singular values of W_Q, W_K, W_V and W_O of a head, from their triangular factors."""
    return FactorSpectra(*(np.linalg.svd(R, compute_uv=False) for R in (R_Q, R_K, R_V, R_O)))


def product_spectrum(
    core: Float[np.ndarray, "d_head d_head_"], inner: Float[np.ndarray, "d_head d_head_"], d_model: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float, float, float, float]:
    """The eight numbers of a product A Bᵀ: `core` is R_A R_Bᵀ and `inner` is Bᵀ A.

    Of the d_model eigenvalues all but d_head are zero; they count in the mean tr W/d_model and in the variance
    tr W²/d_model − mean², which for real eigenvalues is the usual one and for complex ones may be negative.
    """
    singular = np.linalg.svd(core, compute_uv=False)
    eigenvalues = by_size(np.linalg.eigvals(inner))
    trace, trace_square = float(np.trace(inner)), float(np.sum(inner * inner.T))
    mean, variance = eigenvalue_moments(trace, trace_square, d_model)
    return (
        *(singular, eigenvalues.real, eigenvalues.imag),
        *(trace, trace_square, float(np.linalg.norm(core)), float(mean), float(variance)),
    )


def eigenvalue_moments(
    trace: float | Float[np.ndarray, "*head"], trace_square: float | Float[np.ndarray, "*head"], d_model: int
) -> tuple[Float[np.ndarray, "*head"], Float[np.ndarray, "*head"]]:
    """Mean and variance of the d_model eigenvalues of W, zeros counted: tr W/d_model, tr W²/d_model − mean²."""
    mean, square = (np.asarray(np.asarray(each, dtype=np.float64) / d_model) for each in (trace, trace_square))
    return mean, np.asarray(square - mean**2)


def by_size(values: np.ndarray) -> np.ndarray:
    """Complex eigenvalues by absolute value, largest first; a conjugate pair with the positive imaginary part first.

    Sizes are compared to ten digits, so that the two of a pair stay together whatever their rounding.
    """
    size = np.abs(values)
    top = size.max(initial=0.0)
    rounded = np.round(size / top, 10) if top > 0 else size
    return values[np.lexsort((-values.imag, -values.real, -rounded))].astype(np.complex128)

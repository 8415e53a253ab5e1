"""The inequalities (5), (7), (9) and (10) of Bao et al., as published and corrected."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from armillary.measures.localization.walk import Values

Side = Float[np.ndarray, "*head"]


class Bound(NamedTuple):
    """The two sides of left ≤ right, as published and corrected; NaN where the published one is not defined."""

    left_published: Side
    right_published: Side
    left_corrected: Side
    right_corrected: Side


def trace_bound(trace: Values, trace_square: Values, energy: Values, d_model: int, rank: int | None = None) -> Bound:
    """(5), in units of tr W. Published: |tr W| ≤ √(d tr W²). Corrected: |tr W| ≤ √(rank · energy), energy = tr(MΣMᵀΣ).

    The published one holds for symmetric M. For asymmetric M, tr W² may be as small as −energy (a rotation), where
    its right side does not exist. rank is that of W_QK, d_head at most; d_model if none is given.
    """
    size, square = np.abs(np.asarray(trace, dtype=np.float64)), np.asarray(trace_square, dtype=np.float64)
    published = np.sqrt(d_model * np.where(square >= 0, square, np.nan))
    return _bound(size, published, size, np.sqrt(_rank(rank, d_model) * np.asarray(energy)))


def spectral_bound(
    trace: Values, covariance_norm: Values, spectral_norm: Values, d_model: int, rank: int | None = None
) -> Bound:
    """(7), first part, in units of M. Published: |tr W|/(√d ‖Σ‖₂) ≤ ‖M‖₂. Corrected: |tr W|/(rank ‖Σ‖₂) ≤ ‖M‖₂.

    M = Σ = I breaks the published one by √d and meets the corrected one.
    """
    size = np.abs(np.asarray(trace, dtype=np.float64)) / covariance_norm
    return _bound(size / np.sqrt(d_model), spectral_norm, size / _rank(rank, d_model), spectral_norm)


def frobenius_bound(
    trace: Values, covariance_norm: Values, frobenius_norm: Values, d_model: int, rank: int | None = None
) -> Bound:
    """(7), what remains true, in units of M: |tr W|/(√d ‖Σ‖₂) ≤ ‖M‖_F, sharper with the rank in place of d."""
    size = np.abs(np.asarray(trace, dtype=np.float64)) / covariance_norm
    return _bound(size / np.sqrt(d_model), frobenius_norm, size / np.sqrt(_rank(rank, d_model)), frobenius_norm)


def one_norm_bound(frobenius_norm: Values, one_norm: Values, d_model: int) -> Bound:
    """(7), last part, in units of M. Published: ‖M‖_F ≤ ‖M‖₁. Corrected: ‖M‖_F ≤ √d ‖M‖₁, for the induced 1-norm.

    The induced norm, the largest sum of a column, is the one that rank collapse knows. The identity breaks the
    published bound by √d and meets the corrected one. For the sum of all |M_ij| the published one holds.
    """
    return _bound(frobenius_norm, one_norm, frobenius_norm, np.sqrt(d_model) * np.asarray(one_norm))


def entropy_bound(nu: Values, length: int) -> Bound:
    """(9), in nats: a lower bound on the entropy of attention over T keys with scores of norm ≤ ν, against log T.

    Published: log(1 + Te^{−ν}) + ν e^{−ν/2}/(1/T + e^{−ν}), which exceeds log T, the largest entropy there is.
    Corrected: log(1 + (T−1)β) + ν √(T(T−1)) β/(1 + (T−1)β), β = exp(−ν √(T/(T−1))): the entropy of one score above
    T − 1 equal ones, which is the least. It falls with ν throughout; there is no peak to stay close to.
    """
    if length < 2:
        raise ValueError(f"expected at least 2 keys, got {length}: the entropy over a single key is 0")
    size = np.asarray(nu, dtype=np.float64)
    published = np.log1p(length * np.exp(-size)) + size * np.exp(-size / 2) / (1 / length + np.exp(-size))
    others = (length - 1) * np.exp(-size * np.sqrt(length / (length - 1)))
    gap = size * np.sqrt(length / (length - 1))
    highest = np.full(size.shape, np.log(length))
    return _bound(published, highest, np.log1p(others) + gap * others / (1 + others), highest)


def score_norm_bound(gram_norm: Values, spectral_norm: Values, temperature: float = 1.0) -> Float[np.ndarray, "*head"]:
    """ν = ‖XXᵀ‖₂ ‖W_QK‖₂/λ ≥ ‖ω‖, without unit: what (9) is about. The published ν lacks λ, so W_QK must hold it."""
    return np.asarray(np.asarray(gram_norm) * spectral_norm / temperature)


def inverse_trace_bound(
    trace_square: Values, energy: Values, trace_W_QK: Values, inverse_frobenius_norm: Values
) -> Bound:
    """(10), first part, in units of M. Published: |tr M| ≤ ‖Σ⁻¹‖_F √(tr W²). Corrected: |tr M| ≤ ‖Σ⁻¹‖_F √energy.

    The same for symmetric M, for which the published one holds.
    """
    size, square = np.abs(np.asarray(trace_W_QK, dtype=np.float64)), np.asarray(trace_square, dtype=np.float64)
    published = inverse_frobenius_norm * np.sqrt(np.where(square >= 0, square, np.nan))
    return _bound(size, published, size, inverse_frobenius_norm * np.sqrt(np.asarray(energy)))


def inverse_norm_bound(
    energy: Values, trace_W_QK: Values, spectral_norm: Values, inverse_spectral_norm: Values
) -> Bound:
    """(10), second part, in units of M. Published: ‖M‖₂ ≤ |tr M|. Corrected: ‖M‖₂ ≤ ‖M‖_F ≤ ‖Σ⁻¹‖₂ √energy.

    diag(1, −1) has trace 0 and norm 1. The corrected one does without the trace, and the conclusion stays: a small
    energy makes a small ‖M‖₂.
    """
    published = np.abs(np.asarray(trace_W_QK, dtype=np.float64))
    return _bound(spectral_norm, published, spectral_norm, inverse_spectral_norm * np.sqrt(np.asarray(energy)))


def _rank(rank: int | None, d_model: int) -> int:
    return d_model if rank is None else rank


def _bound(left: Values, right: Values, left_corrected: Values, right_corrected: Values) -> Bound:
    return Bound(*(np.asarray(side, dtype=np.float64) for side in (left, right, left_corrected, right_corrected)))

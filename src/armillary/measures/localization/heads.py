"""Localization of one head by its weights: ξ, η and the profile of ρ, with Σ = I and with the measured covariance."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from armillary.measures.localization.law import exact_shares, gaussian_shares, published_rho
from armillary.measures.localization.regimes import regimes
from armillary.measures.localization.walk import moments, traces, xi_eta


class Localization(NamedTuple):
    """Of W = W_QK, Σ = I: ξ = tr W/√tr W², η = √tr W², ρ at some places three ways, and the regime's name."""

    xi: float
    eta: float
    rho: Float[np.ndarray, " place"]
    rho_gaussian: Float[np.ndarray, " place"]
    rho_published: Float[np.ndarray, " place"]
    regime: str
    clipped: bool


class DataLocalization(NamedTuple):
    """The same of W = W_QK Σ, Σ the covariance of the attention's input on a text."""

    xi_data: float
    eta_data: float
    rho_data: Float[np.ndarray, " place"]
    rho_data_gaussian: Float[np.ndarray, " place"]
    rho_data_published: Float[np.ndarray, " place"]
    regime_data: str
    clipped_data: bool


def localization(
    R_Q: Float[np.ndarray, "d_head d_head_"],
    R_K: Float[np.ndarray, "d_head d_head_"],
    inner_qk: Float[np.ndarray, "d_head d_head_"],
    scale: float,
    places: Int[np.ndarray, " place"],
    length: int,
) -> Localization:
    """ξ, η, ρ and the regime of a head whose tokens walk at random with Σ = I; `places` are keys, counted from 1.

    ξ, η and the published ρ are NaN where tr W² ≤ 0, as for many asymmetric W_QK; the exact law has no such limit.
    """
    return Localization(*profile(scale**2 * R_Q.T @ R_Q, R_K.T @ R_K, scale * inner_qk, places, length))


def data_localization(
    gram_q_data: Float[np.ndarray, "d_head d_head_"],
    gram_k_data: Float[np.ndarray, "d_head d_head_"],
    inner_qk_data: Float[np.ndarray, "d_head d_head_"],
    scale: float,
    places: Int[np.ndarray, " place"],
    length: int,
) -> DataLocalization:
    """The same with the covariance of the attention's input in the place of I."""
    return DataLocalization(*profile(scale**2 * gram_q_data, gram_k_data, scale * inner_qk_data, places, length))


def profile(
    query: Float[np.ndarray, "d_head d_head_"],
    key: Float[np.ndarray, "d_head d_head_"],
    cross: Float[np.ndarray, "d_head d_head_"],
    places: Int[np.ndarray, " place"],
    length: int,
) -> tuple[float, float, np.ndarray, np.ndarray, np.ndarray, str, bool]:
    """The seven numbers of a head, from the covariances of its queries, its keys, and between keys and queries."""
    found = traces(query, key, cross)
    xi, eta = xi_eta(found.trace, found.trace_square)
    exact = exact_shares(query, key, cross, length, places)
    gaussian = gaussian_shares(*moments(*found, length, places))
    named = regimes(exact.below, exact.rho)
    published = published_rho(found.trace, found.trace_square, length, places)
    return float(xi), float(eta), exact.rho, gaussian.rho, published, str(named.regime), bool(named.clipped)

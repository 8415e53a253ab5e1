"""What is needed of a head's weights to know every spectrum of their products: matrices of d_head × d_head alone.

W_QK = scale · W_Q W_Kᵀ and W_VO = W_V W_O have d_model × d_model entries and rank d_head. With the thin QR of each
factor, W_Q = U_Q R_Q, the singular values of W_QK are those of R_Q R_Kᵀ, its non-zero eigenvalues those of W_Kᵀ W_Q.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Factors(NamedTuple):
    """Triangular factors of one head's weights, and the products that stand in the middle of W_QK² and W_VO²."""

    R_Q: Float[np.ndarray, "d_head d_head_"]
    R_K: Float[np.ndarray, "d_head d_head_"]
    R_V: Float[np.ndarray, "d_head d_head_"]
    R_O: Float[np.ndarray, "d_head d_head_"]
    inner_qk: Float[np.ndarray, "d_head d_head_"]
    inner_vo: Float[np.ndarray, "d_head d_head_"]


class FoldedFactors(NamedTuple):
    """The same of the weights with the norm before the attention folded in; W_O is not touched by it."""

    R_Q_folded: Float[np.ndarray, "d_head d_head_"]
    R_K_folded: Float[np.ndarray, "d_head d_head_"]
    R_V_folded: Float[np.ndarray, "d_head d_head_"]
    inner_qk_folded: Float[np.ndarray, "d_head d_head_"]
    inner_vo_folded: Float[np.ndarray, "d_head d_head_"]


class DataFactors(NamedTuple):
    """Products of a head's query and key weights through the covariance Σ of the attention's input."""

    inner_qk_data: Float[np.ndarray, "d_head d_head_"]
    gram_q_data: Float[np.ndarray, "d_head d_head_"]
    gram_k_data: Float[np.ndarray, "d_head d_head_"]


def factors(
    W_Q: Float[np.ndarray, "d_model d_head"],
    W_K: Float[np.ndarray, "d_model d_head"],
    W_V: Float[np.ndarray, "d_model d_head"],
    W_O: Float[np.ndarray, "d_head d_model"],
) -> Factors:
    """The factors of one head's weights as stored, float64: R of W_Q, W_K, W_V, W_Oᵀ, then W_Kᵀ W_Q and W_O W_V."""
    query, key, value, output = (W.astype(np.float64) for W in (W_Q, W_K, W_V, W_O))
    return Factors(
        R_Q=triangular(query),
        R_K=triangular(key),
        R_V=triangular(value),
        R_O=triangular(output.T),
        inner_qk=key.T @ query,
        inner_vo=output @ value,
    )


def folded_factors(
    W_Q: Float[np.ndarray, "d_model d_head"],
    W_K: Float[np.ndarray, "d_model d_head"],
    W_V: Float[np.ndarray, "d_model d_head"],
    W_O: Float[np.ndarray, "d_head d_model"],
    gain: Float[np.ndarray, " d_model"],
    centring: bool,
) -> FoldedFactors:
    """The factors with the norm folded in: what the weights do to a state of unit variance before gain and centring."""
    query, key, value = (folded(W, gain, centring) for W in (W_Q, W_K, W_V))
    return FoldedFactors(
        R_Q_folded=triangular(query),
        R_K_folded=triangular(key),
        R_V_folded=triangular(value),
        inner_qk_folded=key.T @ query,
        inner_vo_folded=W_O.astype(np.float64) @ value,
    )


def data_factors(
    W_Q: Float[np.ndarray, "d_model d_head"],
    W_K: Float[np.ndarray, "d_model d_head"],
    covariance: Float[np.ndarray, "d_model d_model_"],
) -> DataFactors:
    """W_Kᵀ Σ W_Q, W_Qᵀ Σ W_Q and W_Kᵀ Σ W_K, the scale of the scores not counted."""
    query, key = (W.astype(np.float64) for W in (W_Q, W_K))
    through = covariance.astype(np.float64, copy=False) @ np.concatenate([query, key], axis=1)
    half = query.shape[1]
    return DataFactors(key.T @ through[:, :half], query.T @ through[:, :half], key.T @ through[:, half:])


def folded(
    W: Float[np.ndarray, "d_model d_head"], gain: Float[np.ndarray, " d_model"], centring: bool
) -> Float[np.ndarray, "d_model d_head"]:
    """Weights behind a norm as they act on its input scaled to unit variance: diag(gain) W, centred for LayerNorm.

    LayerNorm takes a state's mean off first, x → P x with P = I − 11ᵀ/d_model, so the weights become P diag(gain) W.
    The norm's bias adds a constant to queries and keys and is no part of the product.
    """
    scaled = gain.astype(np.float64)[:, None] * W
    return scaled - scaled.mean(axis=0) if centring else scaled


def triangular(W: Float[np.ndarray, "d_model d_head"]) -> Float[np.ndarray, "d_head d_head_"]:
    """R of the thin QR of W, filled with rows of zeros where W has fewer rows than columns."""
    found: np.ndarray = np.asarray(np.linalg.qr(W, mode="r"))
    missing = W.shape[1] - len(found)
    return np.pad(found, ((0, missing), (0, 0))) if missing else found

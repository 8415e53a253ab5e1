"""What independent factors would give: W_Q and W_K with their own singular values and random directions.

Marchenko–Pastur is no null for a product. Here each factor keeps its singular values and is turned by a Haar rotation
on both sides, so that only the alignment of the two factors is random.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats

DRAWS = 24
"""Products drawn for the null; a z-score then follows Student's t with 23 degrees of freedom."""


class ProductNull(NamedTuple):
    """Mean singular values of the null; z-scores of the largest, of the trace and of the overlap of subspaces."""

    null: Float[np.ndarray, " mode"]
    top_z: float
    trace_z: float
    overlap: float
    overlap_null: float
    overlap_z: float


class QKNull(NamedTuple):
    """How W_QK differs from a product of independent factors."""

    singular_value_qk_null: Float[np.ndarray, " mode"]
    top_qk_z: float
    trace_qk_z: float
    overlap_qk: float
    overlap_qk_null: float
    overlap_qk_z: float


class VONull(NamedTuple):
    """How W_VO differs from a product of independent factors."""

    singular_value_vo_null: Float[np.ndarray, " mode"]
    top_vo_z: float
    trace_vo_z: float
    overlap_vo: float
    overlap_vo_null: float
    overlap_vo_z: float


def qk_null(
    R_Q: Float[np.ndarray, "d_head d_head_"],
    R_K: Float[np.ndarray, "d_head d_head_"],
    inner_qk: Float[np.ndarray, "d_head d_head_"],
    scale: float,
    d_model: int,
) -> QKNull:
    """W_QK against independent W_Q and W_K; the z of the trace is that of the alignment Tr(W_Qᵀ W_K)."""
    found = product_null(R_Q, R_K, inner_qk, d_model)
    return QKNull(scale * found.null, *found[1:])


def vo_null(
    R_V: Float[np.ndarray, "d_head d_head_"],
    R_O: Float[np.ndarray, "d_head d_head_"],
    inner_vo: Float[np.ndarray, "d_head d_head_"],
    d_model: int,
) -> VONull:
    """W_VO against independent W_V and W_O."""
    return VONull(*product_null(R_V, R_O, inner_vo, d_model))


def product_null(
    R_A: Float[np.ndarray, "d_head d_head_"],
    R_B: Float[np.ndarray, "d_head d_head_"],
    inner: Float[np.ndarray, "d_head d_head_"],
    d_model: int,
    draws: int = DRAWS,
    seed: int = 0,
) -> ProductNull:
    """A Bᵀ against products of factors with the same singular values a, b and Haar rotations; `inner` is Bᵀ A.

    The largest singular value is compared with `draws` simulated ones, z = (σ₁ − mean)/(sd √(1 + 1/draws)). The trace
    has mean 0 and variance Σa² Σb² / (d_model d_head) exactly. The overlap ‖U_Aᵀ U_B‖²/d_head of the two subspaces of
    the hidden space, 0 orthogonal, 1 the same, has mean d_head/d_model and a variance in closed form. NaN where a
    factor has not full rank and so no subspace of this size, and z-scores NaN where nothing varies.
    """
    d_head = len(R_A)
    a, b = np.linalg.svd(R_A, compute_uv=False), np.linalg.svd(R_B, compute_uv=False)
    turned = a[:, None] * haar(d_head, draws, seed) * b
    # Through the Gram matrix: half the time, and digits are lost of values that are tiny beside the largest alone.
    drawn = np.sqrt(np.linalg.eigvalsh(turned @ turned.swapaxes(1, 2))[:, ::-1].clip(0))
    scatter = float(drawn[:, 0].std(ddof=1)) * np.sqrt(1 + 1 / draws)
    top = float(np.linalg.norm(R_A @ R_B.T, 2))
    spread = float(np.sqrt(np.sum(a**2) * np.sum(b**2) / (d_model * d_head)))
    overlap = subspace_overlap(R_A, R_B, inner)
    expected, deviation = overlap_moments(d_head, d_model)
    return ProductNull(
        null=drawn.mean(axis=0),
        top_z=z_score(top, float(drawn[:, 0].mean()), scatter, top),
        trace_z=z_score(float(np.trace(inner)), 0.0, spread, spread),
        overlap=overlap,
        overlap_null=expected,
        overlap_z=z_score(overlap, expected, deviation, 1.0),
    )


def z_score(value: float, mean: float, deviation: float, size: float) -> float:
    """(value − mean) / deviation; NaN where the deviation is zero but for rounding of numbers of this size."""
    return (value - mean) / deviation if deviation > 1e-12 * abs(size) else float("nan")


def subspace_overlap(
    R_A: Float[np.ndarray, "d_head d_head_"],
    R_B: Float[np.ndarray, "d_head d_head_"],
    inner: Float[np.ndarray, "d_head d_head_"],
) -> float:
    """‖U_Aᵀ U_B‖²/d_head of the column spaces of A and B, 0 to 1, from their triangular factors and Bᵀ A."""
    for R in (R_A, R_B):
        singular = np.linalg.svd(R, compute_uv=False)
        if singular[-1] <= singular[0] * len(R) * np.finfo(np.float64).eps:
            return float("nan")
    between = np.linalg.solve(R_B.T, np.linalg.solve(R_A.T, inner.T).T)
    return float(np.sum(between**2)) / len(R_A)


def overlap_moments(d_head: int, d_model: int) -> tuple[float, float]:
    """Mean and standard deviation of the overlap of two random subspaces of d_head in d_model dimensions."""
    if d_model < 2 or d_head >= d_model:
        return min(d_head / d_model, 1.0), 0.0
    apart = d_model - d_head
    variance = 2 * apart**2 / (d_model**2 * (d_model - 1) * (d_model + 2))
    return d_head / d_model, float(np.sqrt(variance))


@lru_cache(maxsize=4)
def haar(size: int, draws: int, seed: int) -> Float[np.ndarray, "draw d_head d_head_"]:
    """Uniform orthogonal matrices, the same for all heads."""
    gaussian = np.random.default_rng(seed).standard_normal((draws, size, size))
    Q, R = np.linalg.qr(gaussian)
    return Q * np.sign(np.einsum("nii->ni", R))[:, None, :]


def differing(
    trace_z: Float[np.ndarray, "*head"], top_z: Float[np.ndarray, "*head"], overlap_z: Float[np.ndarray, "*head"]
) -> Bool[np.ndarray, "*head"]:
    """Which heads differ from products of independent factors in any of the three z-scores, 5 % over all jointly.

    Two-sided, by Bonferroni over all scores given; the largest singular value against Student's t, as its null is
    simulated. A score that is NaN says nothing.
    """
    level = 0.05 / (3 * max(trace_z.size, 1))
    p = [
        2 * stats.norm.sf(np.abs(trace_z)),
        2 * stats.t.sf(np.abs(top_z), DRAWS - 1),
        2 * stats.norm.sf(np.abs(overlap_z)),
    ]
    return np.any(np.stack(p) < level, axis=0)

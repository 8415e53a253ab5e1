"""Is W_QK symmetric, and does it favour queries or keys? After Saponati and others (arXiv 2502.10927)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

THRESHOLD = 2.0
"""How many standard deviations above the mean a row or column norm must lie to count."""


class Symmetry(NamedTuple):
    """Symmetry of W_QK, 1 symmetric, 0 antisymmetric, about ½ for random weights; and its directionality, −1 to 1."""

    symmetry: float
    directionality: float


def symmetry(
    W_Q: Float[np.ndarray, "d_model d_head"],
    W_K: Float[np.ndarray, "d_model d_head"],
    R_Q: Float[np.ndarray, "d_head d_head_"],
    R_K: Float[np.ndarray, "d_head d_head_"],
    inner_qk: Float[np.ndarray, "d_head d_head_"],
) -> Symmetry:
    """½ (1 + tr W² / ‖W‖²) of W = W_QK, and (C − R) / (C + R) of its outstanding columns and rows.

    R adds up the norms of rows that lie more than two standard deviations above the mean row norm, C those of columns.
    Directionality above 0: a few coordinates of the key's input stand out (usual for causal models), below 0: of the
    query's input. NaN for a zero matrix, or where no row or column stands out.
    """
    energy = float(np.sum((R_Q @ R_K.T) ** 2))
    share = float(np.sum(inner_qk * inner_qk.T)) / energy if energy > 0 else float("nan")
    rows = np.linalg.norm(W_Q.astype(np.float64) @ R_K.T, axis=1)
    columns = np.linalg.norm(W_K.astype(np.float64) @ R_Q.T, axis=1)
    total_rows, total_columns = outstanding(rows), outstanding(columns)
    both = total_rows + total_columns
    return Symmetry(0.5 * (1 + share), (total_columns - total_rows) / both if both > 0 else float("nan"))


def outstanding(norms: Float[np.ndarray, " d_model"]) -> float:
    """Sum of the norms that exceed the mean by more than two standard deviations."""
    return float(norms[norms > norms.mean() + THRESHOLD * norms.std()].sum())

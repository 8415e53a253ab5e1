"""States as mean + position + context + residual (Song and Zhong, equations 2 to 4), and how variance splits."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse


class Parts(NamedTuple):
    """The four parts of a full table of states."""

    mean: Float[np.ndarray, " d_model"]
    position_basis: Float[np.ndarray, "position d_model"]
    context_basis: Float[np.ndarray, "context d_model"]
    residual: Float[np.ndarray, "context position d_model"]


def decomposition(states: Float[np.ndarray, "context position d_model"]) -> Parts:
    """Split a table of states: h = mean + position + context + residual, in the states' own units.

    Each basis sums to zero, and so does the residual over contexts and over positions.
    """
    mean = states.mean((0, 1))
    position, context = states.mean(0) - mean, states.mean(1) - mean
    return Parts(mean, position, context, states - mean - position - context[:, None])


class Variance(NamedTuple):
    """Shares of the total sum of squares, and what each would be if it meant nothing."""

    share: Float[np.ndarray, "component"]
    share_floor: Float[np.ndarray, "component"]


def variance(
    position_basis: Float[np.ndarray, "position d_model"],
    context_basis: Float[np.ndarray, "context d_model"],
    squares: Float[np.ndarray, "group"],
    holes: int = 0,
) -> Variance:
    """Shares of position, context and residual in the sum of squares about the mean; they add up to 1.

    C Σ|pos|² + T Σ|ctx|² + Σ|resid|² = Σ|h − mean|² exactly, on a table whose holes are filled. The floor of position
    is SS_residual / (degrees of freedom per position · SS_total), right for any dependence along the text; that of
    context is its mean under the permutation null, tokens of a position permuted across windows, (1 − position) / T.
    The residual has no floor, and position has none in a single window.
    """
    contexts, positions = len(context_basis), len(position_basis)
    total = squares.sum()
    position, context = contexts * np.sum(position_basis**2) / total, positions * np.sum(context_basis**2) / total
    residual = 1 - position - context
    degrees = (contexts - 1) * (positions - 1) - holes
    return Variance(
        share=np.array([position, context, residual]),
        share_floor=np.array(
            [residual * (positions - 1) / degrees if degrees > 0 else np.nan, (1 - position) / positions, np.nan]
        ),
    )


def layer_split(
    states: Float[np.ndarray, "position d_model"],
    mean: Float[np.ndarray, "d_model"],
    position_basis: Float[np.ndarray, "position d_model"],
) -> Float[np.ndarray, "component"]:
    """Shares of position, context and residual in the sum of squares about the run's mean; they add up to 1.

    x_t = h_t − mean = p_t + c + r_t: p_t the run's position vector, c the prompt's mean of x − p, r_t what is left.
    The share of a part a is Σ_t ⟨a_t, x_t⟩ / Σ_t ‖x_t‖². The run's p is not orthogonal to a single prompt's c and r, so
    each product of two parts goes half to either, and a share may be negative: the part works against the others.
    NaN where nothing differs from the mean. Even if the tokens had nothing in common, c would hold about 1/T.
    """
    x = states - mean
    context = (x - position_basis).mean(0)
    total = np.sum(x**2)
    if not total > 0:
        return np.full(3, np.nan)
    position, shared = np.sum(position_basis * x) / total, np.sum(context * x.sum(0)) / total
    return np.array([position, shared, 1 - position - shared])


def filled_cells(
    rows: Float[np.ndarray, "context value"],
    columns: Float[np.ndarray, "position value"],
    contexts: Int[np.ndarray, " hole"],
    positions: Int[np.ndarray, " hole"],
) -> Float[np.ndarray, "hole value"]:
    """Values for missing cells that lie exactly on the additive fit mean + position + context (Yates, 1933).

    `rows` and `columns` are the sums of the table over the cells that are there. The fill is the fixed point of
    f = row mean + column mean − grand mean of the filled table; the map is a contraction as long as every row and
    every column keeps a cell.
    """
    n_rows, n_columns = len(rows), len(columns)
    holes = np.arange(len(contexts))
    in_row = sparse.csr_matrix((np.ones(len(holes)), (holes, contexts)), (len(holes), n_rows))
    in_column = sparse.csr_matrix((np.ones(len(holes)), (holes, positions)), (len(holes), n_columns))
    known = rows[contexts] / n_columns + columns[positions] / n_rows - rows.sum(0) / (n_rows * n_columns)
    filled = known
    for _ in range(10_000):
        again = (
            known
            + in_row @ (in_row.T @ filled) / n_columns
            + in_column @ (in_column.T @ filled) / n_rows
            - filled.sum(0) / (n_rows * n_columns)
        )
        step = np.abs(again - filled).max(initial=0)
        filled = again
        if step <= 4 * np.finfo(np.float64).eps * np.abs(filled).max(initial=0):
            break
    return filled

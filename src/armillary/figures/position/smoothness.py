"""Figures of smoothness: low frequencies per layer, finite differences, and what Theorem 1 bounds."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.curves import draw_estimate, draw_line, draw_null, layer_axis
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import PALETTE, axes, panels
from armillary.figures.kit.words import counted, number, span
from armillary.figures.position.grams import low_share_sentence
from armillary.results.reading import array, estimate, has, numbers, optional

SHOWN = (1, 3, 5, 10)
"""The K of the paper's tables, counted from 0."""


def low_frequencies(results: xr.DataTree) -> go.Figure:
    """One panel per K: the share of frequencies 0..K, its null and the sinusoidal encoding."""
    count = array(results, "position/low_frequency_share").sizes["frequency"]
    shown = [k for k in SHOWN if k < count] or [count - 1]
    rows, columns = -(-len(shown) // 2), min(2, len(shown))
    figure = panels(rows, columns, tuple(f"K = {k}" for k in shown), 140 + 210 * rows, one_scale=True)
    for place, k in enumerate(shown):
        row, column = place // 2 + 1, place % 2 + 1
        one = estimate(results, "position/low_frequency_share", frequency=k)
        draw_estimate(figure, one, "this model", PALETTE[0], row, column)
        if has(results, "position/low_frequency_share_null"):
            draw_null(figure, numbers(results, "position/low_frequency_share_null", frequency=k), "null", row, column)
        if has(results, "position/low_frequency_share_sinusoidal"):
            fixed = float(numbers(results, "position/low_frequency_share_sinusoidal", frequency=k))
            flat = np.full(one.value.size, fixed)
            draw_line(figure, flat, "sinusoidal encoding", PALETTE[4], "dot", row, column)
        layer_axis(figure, one.value.size)
    axes(figure, "layer", "share of energy", range=[0, 1.03])
    return figure


def orders(results: xr.DataTree, path: str) -> list[str]:
    """The orders of the differences by name: their coordinate, else counted from 1."""
    variable = array(results, path)
    given = variable.coords["order"].values if "order" in variable.coords else range(1, variable.sizes["order"] + 1)
    return [str(order) for order in given]


def differences(results: xr.DataTree) -> go.Figure:
    """The largest finite difference of the Gram matrix, one curve per order."""
    values, figure = numbers(results, "position/difference_max"), panels()
    for place, order in enumerate(orders(results, "position/difference_max")[: len(PALETTE)]):
        draw_line(figure, values[:, place], f"order {order}", PALETTE[place])
    axes(figure, "layer", "largest |Δ|", type="log")
    layer_axis(figure, len(values))
    return figure


def differences_finding(results: xr.DataTree) -> str:
    """The span of the first order's largest difference; there is no null for it."""
    first = orders(results, "position/difference_max")[0]
    values = numbers(results, "position/difference_max")[:, 0]
    return f"The largest difference of order {first} is {span(values)}; what chance gives is not determined"


def theorem1(results: xr.DataTree) -> go.Figure:
    """What the low frequencies leave of the Gram matrix, below the bounds of each order."""
    names = orders(results, "position/theorem1_bound")[:4]
    rows, columns = -(-len(names) // 2), min(2, len(names))
    figure = panels(rows, columns, tuple(f"order m = {name}" for name in names), 140 + 220 * rows, one_scale=True)
    residual = numbers(results, "position/theorem1_residual")
    printed_basis = optional(results, "position/theorem1_residual_published")
    for place in range(len(names)):
        row, column = place // 2 + 1, place % 2 + 1
        draw_line(figure, residual, "left over", PALETTE[0], "solid", row, column)
        bound = numbers(results, "position/theorem1_bound", order=place)
        draw_line(figure, bound, "bound, proved anew", PALETTE[2], "dash", row, column)
        if has(results, "position/theorem1_bound_published"):
            printed = numbers(results, "position/theorem1_bound_published", order=place)
            draw_line(figure, printed, "bound as printed", PALETTE[1], "dot", row, column)
        if printed_basis is not None:
            draw_line(figure, printed_basis, "left over by the printed basis", PALETTE[4], "dot", row, column)
    layer_axis(figure, residual.size)
    axes(figure, "layer", "‖G − ΠGΠ‖ / T", type="log")
    return figure


def theorem1_finding(results: xr.DataTree) -> str:
    """Whether the bound is kept, and how loose it is at best."""
    residual, bound = numbers(results, "position/theorem1_residual"), numbers(results, "position/theorem1_bound")
    tightest = bound.min(1)
    known = np.isfinite(residual) & np.isfinite(tightest)
    if not known.any():
        return "What Theorem 1 bounds is not determined in any layer"
    kept = residual <= tightest
    ratio = np.divide(tightest, residual, out=np.full_like(residual, np.nan), where=known & (residual > 0))
    if kept[known].all():
        return f"The bound of Theorem 1 holds and is {span(ratio)} times what is left over" + printed_note(results)
    worst = number(float(np.nanmin(ratio)))
    return f"The bound of Theorem 1 is kept in {counted(kept)} only: at worst it is {worst} times what is left over"


def printed_note(results: xr.DataTree) -> str:
    """In how many layers the theorem as printed is broken, where the run has both sides of it."""
    left, bound = (optional(results, f"position/theorem1_{name}_published") for name in ("residual", "bound"))
    if left is None or bound is None:
        return ""
    broken = left > bound.min(1)
    return f"; as printed it is broken in {counted(broken)}"


FIGURES = (
    Figure(
        "low-frequency-share",
        "position",
        ("position/low_frequency_share",),
        low_share_sentence,
        low_frequencies,
        "Share of the energy of the position vectors' cosines in the lowest frequencies 0..K: near 1 if position is "
        "smooth. Bands: lowest and highest as documents are left out; null: windows turned at random.",
        "r_K = Σ_{i,j ≤ K} Ĝ_ij² / Σ Ĝ_ij², Ĝ the orthonormal 2-D DCT-II of the cosines; K counted from 0",
        "Song & Zhong (2023), Table 3",
    ),
    Figure(
        "position-differences",
        "position",
        ("position/difference_max",),
        differences_finding,
        differences,
        "The largest finite difference of the position vectors' cosines, in units of 1/T per step: small if the "
        "matrix is smooth. Rounding grows by 4T² per order.",
        "max |Δ^(m,m) G|, each order with T², G continued as an even, periodic matrix",
        "Song & Zhong (2023), equations 6 and 7",
    ),
    Figure(
        "theorem-1",
        "position",
        ("position/theorem1_residual", "position/theorem1_bound"),
        theorem1_finding,
        theorem1,
        "What the lowest frequencies leave of the cosines' matrix, and the bound that smoothness of order m puts on "
        "it, as printed and as proved anew for the right basis.",
        "‖G − ΠGΠ‖op / T ≤ 2 [2 (g₁ g_k)^m + g_k^2m] · max |Δ^(m,m) G|, g_j = 1 / (2T sin(πj / 2T)); printed: "
        "6 / (8k)^m · max |Δ^(m,m) G|",
        "Song & Zhong (2023), Theorem 1",
    ),
)

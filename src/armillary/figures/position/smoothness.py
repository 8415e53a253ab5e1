"""Figures of smoothness: frequencies of the positional Gram matrix, finite differences, and what Theorem 1 bounds."""

from functools import partial

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Bool, Float

from armillary.figures.kit.colours import ESTIMATE, POSITION, PUBLISHED, series
from armillary.figures.kit.curves import draw_estimate, draw_line, draw_null, layer_axis
from armillary.figures.kit.fields import MATRICES, heatmap, slider, squared
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import drawn, drawn_estimate
from armillary.figures.kit.words import NO_NULL, NOT_ESTIMABLE, counted, error_words, largest, number, span
from armillary.measures.smoothness import spectrum_2d
from armillary.results.reading import Estimate, array, chosen, estimate, has, numbers, optional

SHOWN = (1, 3, 5, 10)
"""The K of the paper's tables, counted from 0."""

FREQUENCIES, ORDERS = 16, 4
"""The most frequencies of a matrix, and the most orders of differences, that are shown."""

SHARE = "position/low_frequency_share"
FEW, MANY = 3, 10
"""The K of which the matrix of frequencies and the curves speak."""

SMOOTH = 0.5
"""Position is called smooth where the low frequencies hold at least this share of the energy."""

SINUSOIDAL, PRINTED_BASIS = series(2)


def frequencies(results: xr.DataTree) -> go.Figure:
    """The lowest frequencies of the Gram matrix, log of the absolute coefficient, a layer at a time."""
    matrices, best = array(results, "position/gram"), smoothest(results)
    layers = chosen(matrices.sizes["layer"], MATRICES, best)
    steps, size = [], min(FREQUENCIES, matrices.sizes["position"])
    for layer in layers:
        matrix = numbers(results, "position/gram", layer=int(layer))
        steps.append([heatmap(log_frequencies(matrix)[:size, :size], "log₁₀ |Ĝ|", (-3.0, 2.0), signed=False)])
    figure, start = squared(panels(height=400), "frequency", "frequency"), int(np.searchsorted(layers, best))
    titles = [frequencies_title(results, int(layer)) for layer in layers]
    return slider(figure, steps, [str(layer) for layer in layers], start, titles)


def log_frequencies(matrix: Float[np.ndarray, "position position_"]) -> Float[np.ndarray, "frequency frequency_"]:
    """Decimal logarithm of the 2-D cosine transform's absolute coefficients; NaN where there is none."""
    size = np.abs(spectrum_2d(matrix))
    return np.log10(size, out=np.full_like(size, np.nan), where=size > 0)


def smoothest(results: xr.DataTree) -> int:
    """The layer with which the slider begins: of the largest low-frequency share, else the middle one."""
    share = low_share(results, FEW)[0].value if has(results, SHARE) else np.full(1, np.nan)
    return largest(share) if np.isfinite(share).any() else array(results, "position/gram").sizes["layer"] // 2


def frequencies_title(results: xr.DataTree, layer: int) -> str:
    """The share of the lowest frequencies in one layer; the constant part where the run does not hold it."""
    if has(results, SHARE):
        share, highest = low_share(results, FEW)
        if np.isfinite(share.value[layer]):
            held = number(100 * float(share.value[layer]))
            return f"Frequencies 0 to {highest} hold {held} % of the Gram energy (layer {layer})"
    first = float(np.abs(spectrum_2d(numbers(results, "position/gram", layer=layer)))[0, 0])
    if not np.isfinite(first):
        return f"The frequencies of the positional Gram matrix are {NOT_ESTIMABLE} (layer {layer})"
    return f"The constant part of the Gram matrix is {number(first)} (layer {layer}); {NO_NULL}"


def frequencies_finding(results: xr.DataTree) -> str:
    """The title of the layer with which the slider begins."""
    return frequencies_title(results, smoothest(results))


def low_share(results: xr.DataTree, highest: int = MANY) -> tuple[Estimate, int]:
    """The share of frequencies 0..K in every layer, and K, at most as large as the run has it."""
    highest = min(highest, array(results, SHARE).sizes["frequency"] - 1)
    return estimate(results, SHARE, frequency=highest), highest


def smoother(results: xr.DataTree, highest: int = MANY) -> Bool[np.ndarray, " layer"] | None:
    """Where the low-frequency share is above its null, whatever fold is left out; None without a null."""
    share, highest = low_share(results, highest)
    if not has(results, f"{SHARE}_null"):
        return None
    return np.where(np.isfinite(share.low), share.low, share.value) > numbers(
        results, f"{SHARE}_null", frequency=highest
    )


def low_share_sentence(results: xr.DataTree) -> str:
    """The largest share of low frequencies, no further than low and null allow."""
    share, highest = low_share(results)
    if not np.isfinite(share.value).any():
        return f"The low-frequency share of the positional Gram matrix is {NOT_ESTIMABLE}"
    above, best = smoother(results), largest(share.value)
    held = f"frequencies 0 to {highest} hold up to {number(100 * float(share.value[best]))} % (layer {best})"
    if above is None:
        return f"{held[0].upper()}{held[1:]}; {NO_NULL}"
    if not above.any():
        return f"Position is not significantly smooth: {held}"
    return f"Position is {'smooth' if share.value[best] >= SMOOTH else 'smoother than chance'}: {held}"


def low_share_detail(results: xr.DataTree, highest: int = MANY) -> str:
    """The share over the layers, its null, and where it is above it."""
    if not has(results, SHARE):
        return ""
    share, highest = low_share(results, highest)
    above = smoother(results, highest)
    if above is None or not np.isfinite(share.value).any():
        return ""
    null = span(numbers(results, f"{SHARE}_null", frequency=highest), "%")
    return f"{span(share.value, '%')} of the Gram energy, circular-shift null {null}; above it in {counted(above)}"


def low_frequencies(results: xr.DataTree) -> go.Figure:
    """One panel per K: the share of frequencies 0..K, its null and the sinusoidal encoding."""
    count = array(results, SHARE).sizes["frequency"]
    shown = [k for k in SHOWN if k < count] or [count - 1]
    rows, columns = -(-len(shown) // 2), min(2, len(shown))
    figure = panels(rows, columns, tuple(f"K = {k}" for k in shown), 140 + 210 * rows, one_scale=True)
    for place, k in enumerate(shown):
        row, column = place // 2 + 1, place % 2 + 1
        share = drawn_estimate(results, SHARE, frequency=k)
        draw_estimate(figure, share, "positional basis", POSITION, row, column)
        if has(results, f"{SHARE}_null"):
            draw_null(figure, drawn(results, f"{SHARE}_null", frequency=k), "circular-shift null", row, column)
        if has(results, f"{SHARE}_sinusoidal"):
            fixed = np.full(share.value.size, float(drawn(results, f"{SHARE}_sinusoidal", frequency=k)))
            draw_line(figure, fixed, "sinusoidal encoding", SINUSOIDAL, "dot", row, column)
        layer_axis(figure, share.value.size)
    axes(figure, "layer", "share of energy, %", range=[0, 103])
    return figure


def orders(results: xr.DataTree, path: str) -> list[str]:
    """The orders of the differences by name: their coordinate, else counted from 1."""
    variable = array(results, path)
    given = variable.coords["order"].values if "order" in variable.coords else range(1, variable.sizes["order"] + 1)
    return [str(order) for order in given]


def differences(results: xr.DataTree) -> go.Figure:
    """The largest finite difference of the Gram matrix, one curve per order."""
    values, figure = numbers(results, "position/difference_max"), panels()
    names = orders(results, "position/difference_max")[:ORDERS]
    for place, (order, colour) in enumerate(zip(names, series(len(names)), strict=True)):
        draw_line(figure, values[:, place], f"order {order}", colour)
    axes(figure, "layer", "largest |Δ|", type="log")
    layer_axis(figure, len(values))
    return figure


def differences_finding(results: xr.DataTree) -> str:
    """The first order's largest difference for a step of one position, T² left out; there is no null for it.

    |G_st − G_s,t−1 − G_s−1,t + G_s−1,t−1| of cosines is at most 4.
    """
    steps = numbers(results, "position/difference_max")[:, 0] / array(results, "position/gram").sizes["position"] ** 2
    if not np.isfinite(steps).any():
        return f"The largest mixed difference of neighbouring cosines is {NOT_ESTIMABLE}"
    best = largest(steps)
    return f"Mixed differences of neighbouring cosines reach {number(float(steps[best]))} of at most 4 (layer {best})"


def differences_detail(results: xr.DataTree) -> str:
    """The span of the first order's largest difference over the layers."""
    first, values = orders(results, "position/difference_max")[0], numbers(results, "position/difference_max")[:, 0]
    return f"Order {first}: {span(values)} over the layers" if np.isfinite(values).any() else ""


def theorem1(results: xr.DataTree) -> go.Figure:
    """What the low frequencies leave of the Gram matrix, below the bounds of each order."""
    names = orders(results, "position/theorem1_bound")[:ORDERS]
    rows, columns = -(-len(names) // 2), min(2, len(names))
    figure = panels(rows, columns, tuple(f"order m = {name}" for name in names), 140 + 220 * rows, one_scale=True)
    residual = numbers(results, "position/theorem1_residual")
    printed_basis = optional(results, "position/theorem1_residual_published")
    for place in range(len(names)):
        row, column = place // 2 + 1, place % 2 + 1
        draw_line(figure, residual, "left over", POSITION, "solid", row, column)
        bound = numbers(results, "position/theorem1_bound", order=place)
        draw_line(figure, bound, "corrected bound", ESTIMATE, "dash", row, column)
        if has(results, "position/theorem1_bound_published"):
            printed = numbers(results, "position/theorem1_bound_published", order=place)
            draw_line(figure, printed, "published bound", PUBLISHED, "dot", row, column)
        if printed_basis is not None:
            draw_line(figure, printed_basis, "left over by the published basis", PRINTED_BASIS, "dot", row, column)
    layer_axis(figure, residual.size)
    axes(figure, "layer", "‖G − ΠGΠ‖ / T", type="log")
    return figure


def theorem1_finding(results: xr.DataTree) -> str:
    """Whether the bound holds, and how loose it is at best."""
    residual, bound = numbers(results, "position/theorem1_residual"), numbers(results, "position/theorem1_bound")
    tightest = bound.min(1)
    known = np.isfinite(residual) & np.isfinite(tightest)
    if not known.any():
        return f"What Theorem 1 bounds is {NOT_ESTIMABLE} in any layer"
    kept = residual <= tightest
    ratio = np.divide(tightest, residual, out=np.full_like(residual, np.nan), where=known & (residual > 0))
    if kept[known].all():
        loosest = number(float(np.nanmin(ratio))) if np.isfinite(ratio).any() else "1"
        return f"The corrected bound of Theorem 1 holds, at least {loosest} times what is left over"
    return f"The corrected bound of Theorem 1 holds in {counted(kept)} only"


def theorem1_detail(results: xr.DataTree) -> str:
    """How loose the bound is over the layers, and in how many the theorem as published fails."""
    residual, bound = numbers(results, "position/theorem1_residual"), numbers(results, "position/theorem1_bound").min(1)
    ratio = np.divide(bound, residual, out=np.full_like(residual, np.nan), where=residual > 0)
    if not np.isfinite(ratio).any():
        return ""
    detail = f"{span(ratio)} times what is left over"
    left, printed = (optional(results, f"position/theorem1_{name}_published") for name in ("residual", "bound"))
    if left is None or printed is None:
        return detail
    return f"{detail}; as published it fails in {counted(left > printed.min(1))}"


FIGURES = (
    Figure(
        "position-frequencies",
        "position",
        ("position/gram",),
        frequencies_finding,
        frequencies,
        "The lowest frequencies of the position vectors' cosines. A smooth matrix has its large coefficients in the "
        "upper left corner. The slider chooses the layer.",
        "Ĝ = F G Fᵀ, F the orthonormal DCT-II, G the cosines of position vectors",
        "Song & Zhong (2023), Figure 3 (right)",
        partial(low_share_detail, highest=FEW),
    ),
    Figure(
        "low-frequency-share",
        "position",
        (SHARE,),
        low_share_sentence,
        low_frequencies,
        "Share of the energy of the position vectors' cosines in the lowest frequencies 0..K: near 100 % if position "
        f"is smooth. Band: {error_words(SHARE)}, carried on to the curve: fewer documents are noisier, and noise is "
        "rough. Null: circularly shifted windows.",
        "r_K = Σ_{i,j ≤ K} Ĝ_ij² / Σ Ĝ_ij², Ĝ the orthonormal 2-D DCT-II of the cosines; K counted from 0",
        "Song & Zhong (2023), Table 3",
        low_share_detail,
    ),
    Figure(
        "position-differences",
        "position",
        ("position/difference_max", "position/gram"),
        differences_finding,
        differences,
        "The largest finite difference of the position vectors' cosines, in units of 1/T per step: small if the "
        "matrix is smooth; the title speaks of the first order for a step of one. Rounding grows by 4T² per order. "
        "This run has no null for it, and there is no interval.",
        "max |Δ^(m,m) G|, each order with T², G continued as an even, periodic matrix",
        "Song & Zhong (2023), equations 6 and 7",
        differences_detail,
    ),
    Figure(
        "theorem-1",
        "position",
        ("position/theorem1_residual", "position/theorem1_bound"),
        theorem1_finding,
        theorem1,
        "What the lowest frequencies leave of the cosines' matrix, and the bound that smoothness of order m puts on "
        "it: as published, and corrected for the right basis. No interval.",
        "‖G − ΠGΠ‖op / T ≤ 2 [2 (g₁ g_k)^m + g_k^2m] · max |Δ^(m,m) G|, g_j = 1 / (2T sin(πj / 2T)); published: "
        "6 / (8k)^m · max |Δ^(m,m) G|",
        "Song & Zhong (2023), Theorem 1",
        theorem1_detail,
    ),
)

"""Figures of the states themselves: how their variance splits, how long they are."""

from functools import partial

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.curves import draw_estimate, draw_line, layer_axis
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import PALETTE, axes, panels
from armillary.figures.kit.words import at, contrast, number, span
from armillary.results.reading import array, estimate, has, numbers

COMPONENTS = ("position", "context", "residual")
TINTS = ("#59A3CD", "#E49659", "#D3D3D3")  # pale on a dark page too: a dark line must be seen on them
DARK_NULL = "#5A5A5A"  # the grey of nulls is lost on coloured bars


def shares(results: xr.DataTree, group: str) -> go.Figure:
    """Shares of the three components, one bar per layer, stacked; nulls as lines inside their own part."""
    share, axis = 100 * numbers(results, f"{group}/share"), str(array(results, f"{group}/share").dims[0])
    figure = panels(height=420)
    for component, colour in enumerate(TINTS):
        bar = go.Bar(x=np.arange(len(share)), y=share[:, component], name=COMPONENTS[component], marker_color=colour)
        figure.add_trace(bar.update(marker_line_width=0, hovertemplate="%{x}: %{y:.2f} %"))
    if has(results, f"{group}/share_floor"):
        floor = 100 * numbers(results, f"{group}/share_floor")
        draw_line(figure, floor[:, 0], "null of position", DARK_NULL, "dash")
        draw_line(figure, share[:, 0] + floor[:, 1], "null of context, above position", DARK_NULL, "dot")
    figure.update_layout(barmode="stack", bargap=0.12)
    explained = float(np.nanmax(share[:, 0] + share[:, 1], initial=0.0))
    axes(figure, axis, "share of the variance, %", range=[0, min(100.0, 1.4 * explained) or 100.0])
    layer_axis(figure, len(share))
    return figure


def shares_finding(results: xr.DataTree, group: str, what: str) -> str:
    """What position and context make up by the plain formula, beside what chance gives."""
    share = numbers(results, f"{group}/share")
    axis = str(array(results, f"{group}/share").dims[0])
    told = f"By the plain formula position is {span(share[:, 0], '%')} of the variance of {what}"
    told += f" and context {span(share[:, 1], '%')}, over the {axis}s"
    if not has(results, f"{group}/share_floor"):
        return told
    floor = numbers(results, f"{group}/share_floor")
    return f"{told}; chance alone gives {span(floor[:, 0], '%')} and {span(floor[:, 1], '%')}"


def norms(results: xr.DataTree) -> go.Figure:
    """Mean length of the kept states with its error; the longest token of all where it is known. Log scale."""
    one = estimate(results, "norms/norm")
    figure = panels()
    draw_estimate(figure, one, "mean norm")
    if has(results, "outliers/median_norm"):
        draw_line(figure, numbers(results, "outliers/median_norm"), "median norm", PALETTE[2], "dot")
    if has(results, "residual/norm_largest"):
        draw_line(figure, numbers(results, "residual/norm_largest").max(1), "longest token", PALETTE[1], "dot")
    axes(figure, one.axis, "norm, units of the stream", type="log")
    layer_axis(figure, one.value.size)
    return figure


def norms_finding(results: xr.DataTree) -> str:
    """Whether states grow from the first layer to the last, by how much."""
    one = estimate(results, "norms/norm")
    last = one.value.size - 1
    margin = contrast(one).margin
    change, room = one.value[last] - one.value[0], margin[last] + margin[0]
    if not np.isfinite(change):
        return "How long the states are is not determined"
    ends = f"{at(one, 0)} in layer 0 and {at(one, last)} in layer {last}"
    if not np.isfinite(room):
        return f"The mean norm of a state is {ends}; how sure that is, is not determined"
    if abs(change) <= room:
        return f"Whether states grow is not determined: their mean norm is {ends}"
    ratio = one.value[last] / one.value[0]
    verb = f"grow to {number(ratio)} times" if change > 0 else f"shrink to {number(ratio)} times"
    return f"States {verb} their length: their mean norm is {ends}"


FIGURES = (
    Figure(
        "variance-shares",
        "states",
        ("variance/share",),
        partial(shares_finding, group="variance", what="the states"),
        partial(shares, group="variance"),
        "How the variance of the states splits: what the position in the window explains, what the window (context) "
        "explains, and the rest, which fills up to 100 % (the axis ends above the first two). A part that is no higher "
        "than its grey line is what chance alone gives.",
        "h = mean + position + context + residual; C Σ‖pos‖² + T Σ‖ctx‖² + Σ‖resid‖² = Σ‖h − mean‖², by the plain "
        "formula; null of position SS_residual / ((C − 1) SS_total), of context (1 − position) / T",
        "Song & Zhong (2023), equations 2–4",
    ),
    Figure(
        "attention-shares",
        "states",
        ("attention_variance/share",),
        partial(shares_finding, group="attention_variance", what="what the attentions receive"),
        partial(shares, group="attention_variance"),
        "The same split for what each block's attention receives, after the block's norm.",
        "h = mean + position + context + residual at the input of each attention; shares of Σ‖h − mean‖²",
        "Song & Zhong (2023), equations 2–4",
    ),
    Figure(
        "norms",
        "states",
        ("norms/norm",),
        norms_finding,
        norms,
        "How long the states are, layer by layer, on a logarithmic scale. Where the longest token lies far above the "
        "mean, a few tokens have massive norms.",
        "mean of ‖h‖ over the kept tokens; band: 95 %, Student's t over groups of documents",
        "Song & Zhong (2023), Figure 8 (left)",
    ),
)

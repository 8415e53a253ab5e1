"""Figures of W_QK under RoPE: what distance does to it, and which planes hold its energy."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.colours import NULL, series
from armillary.figures.kit.each_head import field_height, labels
from armillary.figures.kit.fields import BAR, heatmap, ruler
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import axis_label, drawn
from armillary.figures.kit.words import NOT_ESTIMABLE, median, number
from armillary.results.reading import array, numbers

TRACE, ENERGY = "weights/trace_qk_distance", "weights/rotary_energy"
SHOWN = 6
"""How many heads of largest trace are drawn."""


def by_distance(results: xr.DataTree) -> go.Figure:
    """The trace of W_QK by distance, for the heads whose trace is largest at some distance, and the mean of all."""
    values = numbers(results, TRACE)
    flat = values.reshape(-1, values.shape[-1])
    names, distance = labels(results, TRACE), [str(at) for at in array(results, TRACE).distance.values]
    order = np.argsort(-np.nan_to_num(np.abs(flat).max(-1)), kind="stable")[:SHOWN]
    figure = panels(height=430)
    curves = [(names[head], flat[head], colour, "solid") for colour, head in zip(series(SHOWN), order, strict=False)]
    for name, curve, colour, dash in [*curves, ("mean of all heads", np.nanmean(flat, 0), NULL, "dash")]:
        trace = go.Scatter(x=distance, y=curve, mode="lines+markers", name=name, line={"color": colour, "dash": dash})
        figure.add_trace(trace.update(hovertemplate=f"{name}, distance %{{x}}: %{{y:.3g}}<extra></extra>"))
    figure.update_xaxes(type="category")
    return axes(figure, "distance, tokens", axis_label(TRACE))


def by_distance_finding(results: xr.DataTree) -> str:
    """The median over heads of what distance leaves of the trace."""
    values = numbers(results, TRACE)
    far = int(array(results, TRACE).distance.values[-1])
    with np.errstate(invalid="ignore", divide="ignore"):
        kept = median(np.abs(values[..., -1]) / np.abs(values[..., 0]))
    if not np.isfinite(kept):
        return f"The trace of W_QK by distance is {NOT_ESTIMABLE}"
    return f"At distance {far} the trace of W_QK is {number(kept)} times that at 0 (median head)"


def planes(results: xr.DataTree) -> go.Figure:
    """The share of query–key energy in every plane, mean over a block's heads."""
    values = np.nanmean(drawn(results, ENERGY), axis=1)
    blocks = len(values)
    trace = heatmap(values, axis_label(ENERGY), (0.0, float(np.nanmax(values))), signed=False)
    trace.update(colorbar=ruler(axis_label(ENERGY), field_height(blocks)))
    figure = panels(height=field_height(blocks) + BAR)
    figure.add_trace(trace.update(hovertemplate="block %{y}, plane %{x}: %{z:.3g} %<extra></extra>"))
    figure.update_layout(margin={"t": BAR})
    axes(figure, "plane, fastest first", "block")
    return figure.update_yaxes(autorange="reversed", dtick=-(-blocks // 12), showgrid=False).update_xaxes(
        showgrid=False
    )


def planes_finding(results: xr.DataTree) -> str:
    """How much energy the slowest quarter of the planes holds, where an even split gives a quarter."""
    values = numbers(results, ENERGY)
    quarter = max(1, values.shape[-1] // 4)
    share = float(np.nanmean(values[..., -quarter:].sum(-1)))
    even = 100 * quarter / values.shape[-1]
    return f"The slowest quarter of RoPE's planes holds {number(100 * share)} % of energy; even: {number(even)} %"


FIGURES = (
    Figure(
        "rotary-distance",
        "weights",
        (TRACE,),
        by_distance_finding,
        by_distance,
        f"tr W_QK as a query sees a key at a distance, under RoPE, for the {SHOWN} heads of largest trace. A trace "
        "that falls with distance: the head prefers similar tokens near by.",
        "W_QK(Δ) = scale · W_Q R_Δ W_Kᵀ, R_Δ the model's own rotation",
        "docs/measures.md",
    ),
    Figure(
        "rotary-planes",
        "weights",
        (ENERGY,),
        planes_finding,
        planes,
        "Which planes of RoPE hold the energy of queries and keys: fast ones tell neighbours apart, slow ones hardly "
        "turn within a window and carry content. Mean over the heads of a block.",
        "‖W_Q,p‖ ‖W_K,p‖ over its sum over planes p",
        "Barbero and others (2024), arXiv 2410.06205, of weights instead of activations",
    ),
)

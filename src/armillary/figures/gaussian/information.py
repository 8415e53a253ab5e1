"""The figure of mutual information against distance."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.colours import NULL, series, transparent
from armillary.figures.kit.curves import band_outline
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import axis_label
from armillary.figures.kit.words import NOT_ESTIMABLE, largest, number
from armillary.results.reading import array, chosen, estimate, label_of, numbers

INFORMATION, NULLS = "gaussian/information", "gaussian/information_null_high"
SHOWN = 6
"""How many layers are drawn."""


def shown_layers(results: xr.DataTree) -> list[int]:
    """A few layers, spread evenly; the one that the title names takes the place of the nearest between the ends."""
    layers = [int(layer) for layer in chosen(array(results, INFORMATION).sizes["layer"], SHOWN)]
    near = numbers(results, INFORMATION, distance=0)
    named = largest(near) if np.isfinite(near).any() else layers[0]
    if named not in layers:
        inner = layers[1:-1]
        layers[1 + int(np.argmin([abs(layer - named) for layer in inner]))] = named
    return layers


def by_distance(results: xr.DataTree) -> go.Figure:
    """Mutual information of two tokens by their distance, for a few layers, with the largest null of any layer."""
    distances = [str(at) for at in array(results, INFORMATION)["distance"].values]
    places = np.arange(len(distances), dtype=np.float64)
    figure = panels(height=430)
    layers = shown_layers(results)
    for colour, layer in zip(series(SHOWN), layers, strict=False):
        one = estimate(results, INFORMATION, layer=int(layer))
        low, high = one.band()
        across, up = band_outline(places, low, high)
        name = f"layer {layer}"
        if across.size:
            shape = go.Scatter(x=across, y=up, mode="lines", fill="toself", fillcolor=transparent(colour))
            shape.update(line={"width": 0}, hoverinfo="skip", showlegend=False, legendgroup=name)
            figure.add_trace(shape)
        curve = go.Scatter(x=places, y=one.value, mode="lines+markers", name=name, legendgroup=name)
        known = bool(np.isfinite(low).any())
        between = " (%{customdata[0]:.3g} to %{customdata[1]:.3g})" if known else ""
        curve.update(line={"color": colour}, text=distances, customdata=np.stack([low, high], -1) if known else None)
        hover = f"{name}, distance %{{text}}: %{{y:.3g}}{between}<extra></extra>"
        figure.add_trace(curve.update(hovertemplate=hover))
    null = go.Scatter(x=places, y=np.nanmax(numbers(results, NULLS), 0), mode="lines", name=label_of(NULLS))
    figure.add_trace(null.update(name="circular-shift null, largest", line={"color": NULL, "dash": "dash"}))
    figure.update_xaxes(tickmode="array", tickvals=list(places), ticktext=distances)
    return axes(figure, "distance, tokens", axis_label(INFORMATION), rangemode="tozero")


def by_distance_finding(results: xr.DataTree) -> str:
    """What neighbours share at most, beside the farthest pairs of that layer."""
    near, far = (numbers(results, INFORMATION, distance=place) for place in (0, -1))
    if not np.isfinite(near).any():
        return f"The mutual information of tokens is {NOT_ESTIMABLE}"
    layer = largest(near)
    nats, apart = number(float(near[layer])), int(array(results, INFORMATION)["distance"].values[-1])
    return f"Neighbouring tokens share {nats} nats at layer {layer}; {apart} apart {float(far[layer]):.2f}"


FIGURES = (
    Figure(
        "gaussian-information",
        "gaussian",
        (INFORMATION, NULLS),
        by_distance_finding,
        by_distance,
        "Mutual information of the states of two tokens against their distance in the text, in the leading directions "
        "of each layer, as if tokens were jointly Gaussian. What remains far away is what a window or document shares. "
        "Bands: leave-one-group-out range; no interval covers, for a few repetitive documents may hold most of it. "
        "Null: windows paired with circularly shifted ones of other documents.",
        "I = ½ log(|Σ_x||Σ_y|/|Σ|), less the digamma bias, less the jackknife's bias over documents",
        "Wertich, section 4.2, estimated; docs/measures.md",
    ),
)

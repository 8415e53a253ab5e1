"""How far the tokens of one text turn from layer to layer, beside the random-weight control."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Bool, Float

from armillary.figures.kit.colours import ESTIMATE
from armillary.figures.kit.curves import draw_line, draw_null, layer_axis
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels, token
from armillary.figures.kit.units import axis_label
from armillary.figures.kit.words import NOT_ESTIMABLE, largest, number
from armillary.results.reading import array, has, numbers, optional, thinned

TOKENS = 40
"""The most tokens that have a curve of their own."""

CONTROL = "random-weight control"


def counted(results: xr.DataTree) -> Bool[np.ndarray, " position"]:
    """Which tokens enter means."""
    return array(results, "travel/counted").values.astype(bool)


def mean_angle(results: xr.DataTree) -> Float[np.ndarray, " layer"]:
    """The angle of every layer, mean over the tokens that count."""
    return numbers(results, "travel/angle")[:, counted(results)].mean(1)


def turns(results: xr.DataTree) -> go.Figure:
    """The angle between the states of neighbouring layers: the mean, every token behind it, and the control."""
    each, figure = numbers(results, "travel/angle"), panels(height=420)
    some = np.flatnonzero(counted(results))
    for position in some[thinned(len(some), TOKENS)]:
        text = token(array(results, "travel/text").values[position]) if has(results, "travel/text") else ""
        line = go.Scatter(x=np.arange(len(each)), y=each[:, position], mode="lines", name=f"{position}: {text}")
        line.update(line={"color": ESTIMATE, "width": 1}, opacity=0.25, showlegend=False)
        figure.add_trace(line.update(hovertemplate="%{x}: %{y:.3g}°"))
    draw_line(figure, mean_angle(results), "mean over tokens", ESTIMATE)
    null = optional(results, "travel/angle_null")
    if null is not None:
        draw_null(figure, null, CONTROL)
    layer_axis(figure, len(each))
    return axes(figure, "layer", axis_label("travel/angle"), rangemode="tozero")


def turns_finding(results: xr.DataTree) -> str:
    """The layer into which tokens turn most."""
    mean = mean_angle(results)
    if not np.isfinite(mean).any():
        return f"The angles between layers are {NOT_ESTIMABLE}"
    most = largest(mean)
    found = f"Tokens turn most into layer {most}, by {number(mean[most])}° on average"
    null = optional(results, "travel/angle_null")
    return found if null is None else f"{found}; {CONTROL} {number(null[most])}°"


FIGURES = (
    Figure(
        "travel-angles",
        "sphere",
        ("travel/angle", "travel/counted"),
        turns_finding,
        turns,
        "The angle between a token's states in neighbouring layers, each seen through the model's own final norm; a "
        "post-norm model has none, and its states are taken as they are. Thin: single tokens. Special tokens and "
        "position 0 are left out of the means, in the model and in its control. One text: there is no interval.",
        "2 atan(|u − v| / |u + v|), u and v the unit vectors of layers l − 1 and l",
        "docs/measures.md",
    ),
)

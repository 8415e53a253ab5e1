"""The residual norm: how long the hidden states are, layer by layer."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.colours import series
from armillary.figures.kit.curves import draw_estimate, draw_line, layer_axis
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.words import NO_ERROR, NOT_ESTIMABLE, at, contrast, error_words, number
from armillary.results.reading import estimate, has, numbers

MEDIAN, LARGEST = series(2)


def norms(results: xr.DataTree) -> go.Figure:
    """Mean norm of the kept states with its error; the largest norm of all where it is known. Log scale."""
    norm = estimate(results, "norms/norm")
    figure = panels()
    draw_estimate(figure, norm, "mean norm")
    if has(results, "outliers/median_norm"):
        draw_line(figure, numbers(results, "outliers/median_norm"), "median norm", MEDIAN, "dot")
    if has(results, "residual/norm_largest"):
        draw_line(figure, numbers(results, "residual/norm_largest").max(1), "largest norm", LARGEST, "dot")
    axes(figure, norm.axis, "norm, units of the stream", type="log")
    layer_axis(figure, norm.value.size)
    return figure


def norms_finding(results: xr.DataTree) -> str:
    """Whether the norm grows from the first layer to the last, by how much."""
    norm = estimate(results, "norms/norm")
    last = norm.value.size - 1
    margin = contrast(norm).margin
    change, room = norm.value[last] - norm.value[0], margin[last] + margin[0]
    if not np.isfinite(change):
        return f"The residual norm is {NOT_ESTIMABLE}"
    ratio = number(norm.value[last] / norm.value[0])
    if not np.isfinite(room):
        return f"The last layer's norm is {ratio} times the first's; {NO_ERROR}"
    if abs(change) <= room:
        return f"The residual norm does not grow significantly from layer 0 to layer {last}"
    verb = f"grows {ratio}-fold" if change > 0 else f"shrinks to {ratio} of its value"
    return f"The residual norm {verb} from layer 0 to layer {last}"


def norms_detail(results: xr.DataTree) -> str:
    """The norm of the first and of the last layer, with margins."""
    norm = estimate(results, "norms/norm")
    last = norm.value.size - 1
    return f"From {at(norm, 0)} (layer 0) to {at(norm, last)} (layer {last})" if np.isfinite(norm.value[last]) else ""


FIGURES = (
    Figure(
        "norms",
        "states",
        ("norms/norm",),
        norms_finding,
        norms,
        "The mean norm of the hidden states, layer by layer, on a logarithmic scale. Where the largest norm lies far "
        f"above the mean, a few tokens have massive activations. Band: {error_words('norms/norm')}.",
        "mean of ‖h‖ over the kept tokens; interval: Student's t over groups of documents",
        "Song & Zhong (2023), Figure 8 (left)",
        norms_detail,
    ),
)

"""The pictures that only the explorer shows: one layer, one head, one prompt. They draw what they are given."""

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float

from armillary.figures.heads.names import parts_of
from armillary.figures.heads.text import span_names
from armillary.figures.kit.colours import (
    ALONG_POSITION,
    CONTEXT,
    ESTIMATE,
    NULL,
    POSITION,
    RESIDUAL,
    ROOTED,
    RUN_1,
    RUN_2,
)
from armillary.figures.kit.fields import BAR, field, heatmap, ruler
from armillary.figures.kit.style import axes, panels
from armillary.figures.position.planes import POSITIONS, draw_plane, first_positions, plane
from armillary.measures.errors.jackknife import half_width
from armillary.measures.position import singular_values
from armillary.measures.similarity import unit_vectors
from armillary.results.reading import LEVEL, array, draws, has, numbers, thinned

MODES = 32

COMPONENTS = {"position": POSITION, "context": CONTEXT, "residual": RESIDUAL}


def position_plane(results: xr.DataTree, layer: int) -> go.Figure:
    """The position vectors of one layer in the plane of their two leading modes, in front of the context vectors."""
    figure = panels(height=400)
    draw_plane(figure, plane(results, layer), first_positions(results), 0)
    key = go.Scatter(x=[None], y=[None], mode="lines+markers", name="position vectors")
    figure.add_trace(
        key.update(marker={"color": ALONG_POSITION[1][1]}, line={"color": ALONG_POSITION[1][1], "width": 1})
    )
    axes(figure, "first mode", "second mode")
    shades = {"colorscale": ALONG_POSITION, "colorbar": ruler("position")}
    legend = {"itemsizing": "constant"}
    return figure.update_layout(coloraxis=shades, height=400 + BAR, margin={"t": BAR}, legend=legend)


def position_gram(results: xr.DataTree, layer: int) -> go.Figure:
    """Cosines of one layer's position vectors with each other."""
    positions = first_positions(results)
    some = thinned(len(positions), POSITIONS)
    unit = unit_vectors(numbers(results, "residual/position_basis", layer=layer)[some])
    trace = heatmap(unit @ unit.T, "cosine", (-1.0, 1.0), x=positions[some], y=positions[some])
    return field(trace, "position", "position").update_yaxes(constraintoward="top")


def position_spectrum(results: xr.DataTree, layer: int) -> go.Figure:
    """Singular values of one layer's positional basis, largest first, beside the circular-shift null."""
    figure = panels(height=400)
    names = {"residual/position_basis": ("positional basis", POSITION, "solid")}
    names |= {"residual/position_null": ("circular-shift null", NULL, "dash")}
    for path, (name, colour, dash) in names.items():
        if not has(results, path):
            continue
        sizes = singular_values(numbers(results, path, layer=layer))[:MODES]
        shown = sizes[sizes > sizes[0] * np.finfo(np.float32).eps]
        line = go.Scatter(x=np.arange(1, len(shown) + 1), y=shown, name=name, mode="lines+markers")
        line.update(line={"color": colour, "dash": dash}, marker={"size": 5}, hovertemplate="mode %{x}: %{y:.4g}")
        figure.add_trace(line)
    return axes(figure, "mode", "singular value, units of the stream", type="log")


LAYERS: dict[str, Callable[[xr.DataTree, int], go.Figure]] = {
    "plane": position_plane,
    "gram": position_gram,
    "spectrum": position_spectrum,
}
LAYER_NEEDS = {
    "plane": ("residual/position_basis", "residual/context_basis"),
    "gram": ("residual/position_basis",),
    "spectrum": ("residual/position_basis",),
}
LAYER_TEXTS = {
    "plane": "Position vectors, darker along the window, in the plane of their two leading modes. Behind them: context "
    "vectors of single tokens, cut at four times the extent of the position vectors.",
    "gram": "Cosines between position vectors: smooth where neighbouring positions are similar.",
    "spectrum": "Singular values of the positional basis: a few large ones where position is low-rank. Dashed: the "
    "circular-shift null.",
}


At = dict[str, int]


def distances(results: xr.DataTree, at: At) -> go.Figure:
    """Attention by distance, one bar per bin; a bin is named by its smallest distance."""
    profile = array(results, "heads/distance_profile").isel(at)
    figure = panels(height=300)
    bars = go.Bar(x=span_names(profile["span"].values), y=100 * profile.values.astype(np.float64))
    bars.update(marker={"color": ESTIMATE}, hovertemplate="%{x} tokens back: %{y:.1f} %<extra></extra>")
    figure.add_trace(bars)
    return axes(figure, "distance in tokens", "attention, %", rangemode="tozero").update_xaxes(type="category")


def mean_map(results: xr.DataTree, at: At) -> go.Figure:
    """A head's mean attention between bins of positions; bins that no query sees are blank."""
    binned = array(results, "heads/map").isel(at)
    names = [[str(int(start)) for start in binned[axis].values] for axis in ("key_bin", "query_bin")]
    values = binned.values.astype(np.float64)
    if not np.triu(values, 1).any():  # what comes later is masked, not zero
        values = np.where(np.tri(*values.shape) > 0, values, np.nan)
    limits = (0.0, float(np.nanmax(values)))
    trace = heatmap(values, "attention", limits, signed=False, x=names[0], y=names[1], colorscale=ROOTED)
    figure = field(trace, "key, first position of its bin", "query", height=320)
    every = {"type": "category", "dtick": -(-len(names[0]) // 8)}
    return figure.update_xaxes(tickangle=0, **every).update_yaxes(**every)


def constituents(results: xr.DataTree, at: At) -> go.Figure:
    """Shares of the nine QK terms in the variance of a head's logits over keys, with 95 % intervals over documents."""
    share = numbers(results, "constituents/share", **at).ravel()
    names = parts_of(results)
    figure = panels(height=360)
    bars = go.Bar(x=100 * share, y=names, orientation="h", name="share", marker={"color": ESTIMATE})
    if has(results, "constituents/share_se"):
        width = half_width(draws(results, "constituents/share"), LEVEL)
        reach = 100 * width * numbers(results, "constituents/share_se", **at).ravel()
        bars.update(error_x={"type": "data", "array": reach, "color": NULL, "thickness": 1.5})
    figure.add_trace(bars.update(hovertemplate="%{y}: %{x:.1f} %<extra></extra>"))
    axes(figure, "share, %", "", autorange="reversed")
    if has(results, "constituents/share_null"):
        null = go.Scatter(x=100 * numbers(results, "constituents/share_null", **at).ravel(), y=names, mode="markers")
        null.update(name="circular-shift null", marker={"color": NULL, "symbol": "line-ns-open", "size": 12})
        figure.add_trace(null.update(hovertemplate="%{y}, null: %{x:.1f} %<extra></extra>"))
    return figure


def weights(results: xr.DataTree, at: At) -> go.Figure:
    """Singular values of a head's W_QK and W_VO, beside those of factors in random directions."""
    figure = panels(height=360)
    for name, (matrix, colour) in {"qk": ("W_QK", RUN_1), "vo": ("W_VO", RUN_2)}.items():
        for ending, words, dash in (("", matrix, "solid"), ("_null", f"{matrix}, random directions", "dash")):
            path = f"weights/singular_value_{name}{ending}"
            if has(results, path):
                values = numbers(results, path, **at)
                line = go.Scatter(x=np.arange(1, len(values) + 1), y=values, name=words, mode="lines")
                line.update(line={"color": colour, "dash": dash}, hovertemplate="%{x}: %{y:.3g}")
                figure.add_trace(line)
    return axes(figure, "mode", "singular value", rangemode="tozero")


HEAD_WORDS = {
    "heads/distance_profile": ("Attention by distance", "between query and key; the bars add up to 100 %"),
    "constituents/share": (
        "QK terms: share of the logits' variance",
        "query part → key part; the nine add up to 100 %, one may be negative; bars: 95 % over documents",
    ),
    "weights/singular_value_qk": (
        "Singular values of W_QK and W_VO",
        "largest first; dashed: factors with the same singular values in random directions",
    ),
}
"""Titles and texts of pictures that show more than one result of the schema."""

HEADS: dict[str, Callable[[xr.DataTree, At], go.Figure]] = {
    "heads/map": mean_map,
    "heads/distance_profile": distances,
    "constituents/share": constituents,
    "weights/singular_value_qk": weights,
}
"""What is drawn of one head, by the result that it shows."""


def share_curves(share: Float[np.ndarray, "layer component"], chance: float) -> go.Figure:
    """Shares of position, context and residual over the layers, for one prompt; dashed: context by chance."""
    figure = panels(height=320)
    for component, (name, colour) in enumerate(COMPONENTS.items()):
        line = go.Scatter(x=np.arange(len(share)), y=100 * share[:, component], name=name, mode="lines+markers")
        figure.add_trace(line.update(line={"color": colour}, marker={"size": 5}))
    null = go.Scatter(x=[0, len(share) - 1], y=[100 * chance] * 2, name="context by chance, 1/T", mode="lines")
    figure.add_trace(null.update(line={"color": NULL, "dash": "dash"}, hoverinfo="skip"))
    figure.update_traces(hovertemplate="layer %{x}: %{y:.1f} %")
    return axes(figure, "layer", "share, %")


def entropies(curves: Sequence[Float[np.ndarray, "block"]]) -> go.Figure:
    """Mean entropy of each block's heads, in nats; with a second curve for a changed model."""
    figure = panels(height=300)
    for name, values, colour in zip(("unchanged", "changed"), curves, (RUN_1, RUN_2), strict=False):
        line = go.Scatter(x=np.arange(len(values)), y=values, name=name, mode="lines+markers")
        figure.add_trace(line.update(line={"color": colour}, hovertemplate="block %{x}: %{y:.3f} nats"))
    return axes(figure, "block", "entropy, nats", rangemode="tozero")

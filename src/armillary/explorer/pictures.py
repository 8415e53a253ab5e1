"""The pictures that only the explorer shows: one layer, one head, one prompt. They draw what they are given."""

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float

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
from armillary.figures.kit.style import axes, literal, panels
from armillary.figures.position.planes import POSITIONS, draw_plane, first_positions, plane
from armillary.measures.position import singular_values
from armillary.measures.similarity import unit_vectors
from armillary.results.reading import has, numbers, thinned

LABELS = 24
"""The most tokens that are named along an axis."""

MODES = 32

COMPONENTS = {"position": POSITION, "context": CONTEXT, "residual": RESIDUAL}

Pattern = Float[np.ndarray, "query key"]


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


def distances(profile: xr.DataArray) -> go.Figure:
    """Attention by distance, one bar per bin; a bin is named by its smallest distance."""
    names = span_names(profile["span"].values)
    figure = panels(height=280)
    bars = go.Bar(x=names, y=profile.values.astype(np.float64), marker={"color": ESTIMATE})
    figure.add_trace(bars.update(hovertemplate="%{x} tokens back: %{y:.3f}<extra></extra>"))
    return axes(figure, "distance in tokens", "attention", rangemode="tozero").update_xaxes(type="category")


def mean_map(binned: xr.DataArray) -> go.Figure:
    """A head's mean attention between bins of positions."""
    names = [[str(int(start)) for start in binned[axis].values] for axis in ("key_bin", "query_bin")]
    values = binned.values.astype(np.float64)
    limits = (0.0, float(np.nanmax(values)))
    trace = heatmap(values, "attention", limits, signed=False, x=names[0], y=names[1], colorscale=ROOTED)
    figure = field(trace, "key, first position of its bin", "query", height=320)
    every = {"type": "category", "dtick": -(-len(names[0]) // 8)}
    return figure.update_xaxes(tickangle=0, **every).update_yaxes(**every)


HEADS: dict[str, Callable[[xr.DataArray], go.Figure]] = {
    "heads/distance_profile": distances,
    "heads/map": mean_map,
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


def attention_map(pattern: Pattern, texts: Sequence[str], unit: str, top: float) -> go.Figure:
    """What each token or word attends to, in colours from 0 to `top`."""
    figure = token_map(pattern, texts, (0.0, top), signed=False).update_traces(colorscale=ROOTED)
    some = thinned(len(texts), LABELS)
    names = [literal(texts[place], 14).strip() or "␣" for place in some]
    ticks = {"tickmode": "array", "tickvals": some.tolist(), "ticktext": names, "tickfont": {"size": 10}}
    figure.update_xaxes(**ticks, tickangle=-90).update_yaxes(**ticks, title_text=f"query {unit}")
    return figure.update_layout(height=400, margin={"t": 10, "b": 90})


def constituent_map(scores: Pattern, texts: Sequence[str], limit: float) -> go.Figure:
    """One QK term of a head's logits, in colours from −limit to limit."""
    figure = token_map(scores, texts, (-limit, limit), signed=True)
    figure.update_xaxes(showticklabels=False, ticks="").update_yaxes(showticklabels=False, ticks="")
    return figure.update_layout(height=240, margin={"t": 6, "b": 6, "l": 6, "r": 6})


def token_map(values: Pattern, texts: Sequence[str], limits: tuple[float, float], *, signed: bool) -> go.Figure:
    """A square map between tokens, without a colour bar; texts are shown letter by letter."""
    names = [f"{place}: {literal(text, 24)}" for place, text in enumerate(texts)]
    hover = "%{y} → %{x}<br>%{z:.3f}<extra></extra>"
    figure = field(heatmap(values, "", limits, signed, x=names, y=names, hovertemplate=hover, showscale=False), "", "")
    return figure.update_xaxes(type="category").update_yaxes(type="category", constraintoward="top")


def entropies(before: Float[np.ndarray, "block"], after: Float[np.ndarray, "block"] | None, alpha: float) -> go.Figure:
    """Mean entropy of the maps of each block, in nats; with a second curve for scaled weights."""
    figure = panels(height=300)
    curves = [("unchanged", before, RUN_1)]
    if after is not None:
        curves.append((f"W_Q and W_K times {alpha:g}", after, RUN_2))
    for name, values, colour in curves:
        line = go.Scatter(x=np.arange(len(values)), y=values, name=name, mode="lines+markers")
        figure.add_trace(line.update(line={"color": colour}, hovertemplate="block %{x}: %{y:.3f} nats"))
    return axes(figure, "block", "entropy, nats", rangemode="tozero")


def part_bars(share: Float[np.ndarray, "part"], error: Float[np.ndarray, "part"], names: Sequence[str]) -> go.Figure:
    """Shares of the nine QK terms in the variance of a head's logits over keys, with standard errors over documents."""
    figure = panels(height=330)
    bars = go.Bar(x=100 * share, y=list(names), orientation="h", marker={"color": ESTIMATE})
    bars.update(error_x={"type": "data", "array": 100 * error, "color": NULL, "thickness": 1.5})
    figure.add_trace(bars.update(hovertemplate="%{y}: %{x:.1f} %<extra></extra>"))
    return axes(figure, "share, %", "", autorange="reversed")

"""The positional basis in the plane of its two leading modes, and the sinusoidal encoding as a reference."""

from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float, Int

from armillary.figures.kit.colours import ALONG_POSITION, CONTEXT, POSITION
from armillary.figures.kit.fields import BAR, heatmap, ruler
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import panels
from armillary.figures.kit.words import NO_NULL, largest, number, span
from armillary.measures.position import singular_values
from armillary.measures.smoothness import gram, sinusoidal_encoding
from armillary.measures.subspaces import leading_directions
from armillary.results.reading import array, chosen, has, numbers, thinned

PANELS, COLUMNS = 6, 2
POSITIONS = 512
REACH = 4.0
"""How far a panel reaches, in reaches of the position vectors; points of the cloud beyond that lie outside."""


class Plane(NamedTuple):
    """One layer in the plane of its two leading position modes."""

    position: Float[np.ndarray, "position 2"]
    cloud: Float[np.ndarray, "sample 2"]


def first_positions(results: xr.DataTree) -> Int[np.ndarray, " position"]:
    """The index in the window of each position vector."""
    basis = array(results, "residual/position_basis")
    return np.asarray(basis.position.values if "position" in basis.coords else np.arange(basis.sizes["position"]))


def plane(results: xr.DataTree, layer: int) -> Plane:
    """Position vectors, and context vectors of single tokens (state − mean − position), on two modes of the basis.

    A run without a sample of tokens shows the context vectors of its windows instead.
    """
    basis = numbers(results, "residual/position_basis", layer=layer)
    modes = leading_directions(basis, 2)
    if not (has(results, "sample/states") and has(results, "residual/mean")):
        return Plane(basis @ modes.T, numbers(results, "residual/context_basis", layer=layer) @ modes.T)
    positions, where = first_positions(results), array(results, "sample/position").values
    known = np.isin(where, positions)
    if has(results, "sample/massive"):
        known &= ~array(results, "sample/massive").values.astype(bool)
    states = numbers(results, "sample/states", layer=layer)[known] - numbers(results, "residual/mean", layer=layer)
    return Plane(basis @ modes.T, (states - basis[np.searchsorted(positions, where[known])]) @ modes.T)


def planes(results: xr.DataTree) -> go.Figure:
    """One panel per chosen layer; each has its own scale."""
    layers = chosen(array(results, "residual/position_basis").sizes["layer"], PANELS)
    rows = -(-len(layers) // COLUMNS)
    names = tuple(f"layer {layer}" for layer in layers)
    figure = panels(rows, min(COLUMNS, len(layers)), names, height=60 + BAR + 250 * rows, gap=40)
    positions = first_positions(results)
    for place, layer in enumerate(layers):
        draw_plane(figure, plane(results, int(layer)), positions, place)
    key = go.Scatter(x=[None], y=[None], mode="lines+markers", name="position vectors", legendgroup="position")
    figure.add_trace(key.update(marker={"color": POSITION}, line={"color": POSITION, "width": 1}), 1, 1)
    figure.update_xaxes(showticklabels=False, ticks="", zeroline=True)
    figure.update_yaxes(showticklabels=False, ticks="", zeroline=True)
    shades = {"colorscale": ALONG_POSITION, "colorbar": ruler("position", 260 * rows) | {"y": 1 + 60 / (260 * rows)}}
    legend = {"y": -0.03, "itemsizing": "constant"}
    return figure.update_layout(coloraxis=shades, legend=legend, margin={"l": 14, "t": BAR + 24})


def draw_plane(figure: go.Figure, flat: Plane, positions: Int[np.ndarray, " position"], place: int) -> None:
    """The cloud behind, the position vectors in their order before it."""
    row, column = place // COLUMNS + 1, place % COLUMNS + 1
    cloud = go.Scatter(x=flat.cloud[:, 0], y=flat.cloud[:, 1], mode="markers", name="context vectors")
    cloud.update(marker={"color": CONTEXT, "size": 3, "opacity": 0.35}, hoverinfo="skip", legendgroup="context")
    figure.add_trace(cloud.update(showlegend=place == 0), row, column)
    some = thinned(len(positions), POSITIONS)
    spiral = go.Scatter(x=flat.position[some, 0], y=flat.position[some, 1], mode="lines+markers")
    spiral.update(line={"width": 1, "color": POSITION}, legendgroup="position", showlegend=False)
    spiral.update(marker={"color": positions[some], "coloraxis": "coloraxis", "size": 5}, text=positions[some])
    figure.add_trace(spiral.update(hovertemplate="position %{text}<extra></extra>"), row, column)
    for axis, along in (("x", 0), ("y", 1)):
        reach = 1.1 * max(np.abs(flat.position[:, along]).max(), 1e-30)
        wide = np.abs(flat.cloud[:, along]).max(initial=0.0)
        limit = max(reach, min(1.05 * wide, REACH * reach))
        getattr(figure, f"update_{axis}axes")(range=[-limit, limit], row=row, col=column)


def plane_share(basis: Float[np.ndarray, "position d_model"]) -> float:
    """Share of a basis' energy that its two leading modes hold."""
    energy = singular_values(basis) ** 2
    return float(energy[:2].sum() / energy.sum()) if energy.sum() > 0 else float("nan")


def planes_finding(results: xr.DataTree) -> str:
    """How much of the positional basis the plane shows at most."""
    layers = chosen(array(results, "residual/position_basis").sizes["layer"], PANELS)
    shown = np.array([plane_share(numbers(results, "residual/position_basis", layer=int(layer))) for layer in layers])
    best = largest(shown)
    return f"Two modes hold up to {number(100 * float(shown[best]))} % of the positional basis (layer {layers[best]})"


def planes_detail(results: xr.DataTree) -> str:
    """The plug-in shares of the layers shown, beside those of circularly shifted windows."""
    layers = chosen(array(results, "residual/position_basis").sizes["layer"], PANELS)
    shown, null = (
        np.array([plane_share(numbers(results, f"residual/position_{name}", layer=int(layer))) for layer in layers])
        if has(results, f"residual/position_{name}")
        else None
        for name in ("basis", "null")
    )
    beside = NO_NULL if null is None else f"circular-shift null {span(null, '%')}"
    return f"{span(shown, '%')} in the layers shown (plug-in); {beside}" if shown is not None else ""


def sinusoidal(results: xr.DataTree) -> go.Figure:
    """Plane and Gram matrix of the fixed encoding, for this run's positions and width."""
    positions = first_positions(results)
    encoding = sinusoidal_encoding(int(positions.max()) + 1, array(results, "residual/position_basis").sizes["d_model"])
    encoding = encoding[positions]
    centred = encoding - encoding.mean(0)
    flat, some = centred @ leading_directions(centred, 2).T, thinned(len(positions), 160)
    figure = panels(2, 1, ("plane of two modes", "cosines, blue −1 to red 1"), height=720)
    marker = {"color": positions, "colorscale": ALONG_POSITION, "size": 5}
    spiral = go.Scatter(x=flat[:, 0], y=flat[:, 1], mode="lines+markers", marker=marker, text=positions)
    spiral.update(line={"width": 1, "color": POSITION}, hovertemplate="position %{text}<extra></extra>")
    figure.add_trace(spiral.update(showlegend=False), 1, 1)
    cosines = gram(encoding)[np.ix_(some, some)]
    figure.add_trace(
        heatmap(cosines, "cosine", (-1.0, 1.0), x=positions[some], y=positions[some], showscale=False), 2, 1
    )
    figure.update_xaxes(title_text="first mode", row=1, col=1)
    figure.update_yaxes(title_text="second mode", row=1, col=1)
    figure.update_xaxes(title_text="position", constrain="domain", showgrid=False, row=2, col=1)
    return figure.update_yaxes(
        autorange="reversed", scaleanchor="x2", constrain="domain", row=2, col=1, title_text="position"
    )


def sinusoidal_finding(results: xr.DataTree) -> str:
    """The share of low frequencies that the fixed encoding has, where the run holds it."""
    if not has(results, "position/low_frequency_share_sinusoidal"):
        return "Reference: the fixed sinusoidal encoding of this length and width"
    known = numbers(results, "position/low_frequency_share_sinusoidal")
    highest = min(10, known.size - 1)
    share = number(100 * float(known[highest]))
    return f"Reference: the sinusoidal encoding has {share} % of its energy in frequencies 0 to {highest}"


FIGURES = (
    Figure(
        "position-plane",
        "position",
        ("residual/position_basis", "residual/context_basis"),
        planes_finding,
        planes,
        "The position vectors (blue, darker with position) on their two leading modes, and context vectors "
        "of single tokens (orange). Each panel has its own scale and is cut at four times the reach of the position "
        "vectors, so some of the cloud may lie outside.",
        "projection on the two leading right singular vectors of position_basis; context vector of a token: h − mean "
        "− position vector",
        "Song & Zhong (2023), Figure 1",
        planes_detail,
    ),
    Figure(
        "sinusoidal",
        "position",
        ("residual/position_basis",),
        sinusoidal_finding,
        sinusoidal,
        "A reference that no model had to learn: the same plane and the same cosines for the fixed encoding of the "
        "first transformer. Its spike along the diagonal is what a learned, smooth basis lacks.",
        "[pos_t]_2j = sin(t / 10000^(2j/d)), [pos_t]_(2j+1) = cos(t / 10000^(2j/d))",
        "Song & Zhong (2023), Figure 7; Vaswani et al. (2017), section 3.5",
    ),
)

"""The paths of a text's tokens over a sphere of three dimensions, to be turned around."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float, Int

from armillary.figures.kit.colours import NULL, series
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import template, token
from armillary.figures.kit.words import NOT_ESTIMABLE, number
from armillary.figures.sphere.angles import CONTROL, counted
from armillary.figures.sphere.labels import End, add_labels
from armillary.measures.sphere.projection import great_circles
from armillary.results.reading import array, has, numbers, optional

TOKENS = 12
"""How many paths are drawn, those of the last tokens."""

BETWEEN = 12
"""Points of an arc between two layers."""

REACH = 1.08
"""Half the width of the scene, in radii of the sphere."""

COLOURS = 6
"""How many colours the paths have: as many again are dashed."""

STROKES = ("solid", "circle"), ("dash", "diamond")
"""Line and dots of the first paths, and of those that have the same colours again."""

Points = Float[np.ndarray, "point mode"]
Way = tuple[Points, Float[np.ndarray, "layer mode"]]
"""A line, and the places of the layers on it."""


class Look(NamedTuple):
    """What sets a path apart from the others: colour, line and dots."""

    colour: str
    dash: str
    symbol: str


def looks() -> list[Look]:
    """A look for each of the paths that are drawn."""
    return [Look(colour, *stroke) for stroke in STROKES for colour in series(COLOURS)]


def drawing(name: str) -> Callable[[xr.DataTree], go.Figure]:
    """How coordinates along three directions are drawn: on the sphere, whatever the distance from its centre."""
    return lambda results: on_sphere(results, f"travel/{name}", f"travel/{name.replace('coordinate', 'cloud')}")


def on_sphere(results: xr.DataTree, path: str, cloud: str) -> go.Figure:
    """The wire sphere, embeddings on it, and the great circles from layer to layer."""
    places, figure = numbers(results, path), scene()
    figure.add_trace(line(wires(), NULL, 1).update(opacity=0.35, hoverinfo="skip", showlegend=False))
    if has(results, cloud):
        add_cloud(figure, results, great_circles(numbers(results, cloud), 1))
    tokens, ends = shown_tokens(results), []
    for look, position in zip(looks(), tokens, strict=False):
        arcs = great_circles(places[:, position], BETWEEN)
        ends.append(add_path(figure, results, (arcs, arcs[::BETWEEN]), int(position), look))
    dots = great_circles(places[:, tokens].reshape(-1, places.shape[-1]), 1)
    looking(figure, np.nan_to_num(dots).mean(0))
    add_labels(figure, ends, np.zeros(3), 2 * REACH)
    return figure


def in_space(results: xr.DataTree) -> go.Figure:
    """The places that UMAP gives, with straight lines from layer to layer."""
    places, figure, tokens = numbers(results, "travel/umap"), scene(), shown_tokens(results)
    cloud = numbers(results, "travel/cloud_umap") if has(results, "travel/cloud_umap") else np.zeros((0, 3))
    add_cloud(figure, results, cloud)
    ends = [
        add_path(figure, results, (places[:, position], places[:, position]), int(position), look)
        for look, position in zip(looks(), tokens, strict=False)
    ]
    figure.update_layout(scene={"aspectmode": "data", "camera": {"eye": {"x": 1.0, "y": 0.8, "z": 0.7}}})
    shown = np.concatenate([cloud, places[:, tokens].reshape(-1, 3)])
    shown = shown[np.isfinite(shown).all(1)]
    if len(shown):
        low, high = shown.min(0), shown.max(0)
        # With the aspect of the data the sides of the scene have a product of 1; plotly leaves some room around it.
        add_labels(figure, ends, (low + high) / 2, 1.1 * float(np.prod(high - low) ** (1 / 3)) or 1.0)
    return figure


def scene() -> go.Figure:
    """An empty space without walls."""
    bare = {"visible": False, "showspikes": False}
    space = {"xaxis": bare, "yaxis": bare, "zaxis": bare, "dragmode": "orbit"}
    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": -0.02, "yanchor": "top", "font": {"size": 12}}
    legend |= {"itemsizing": "constant"}
    return go.Figure().update_layout(
        template=template(), height=620, scene=space, legend=legend, margin={"l": 0, "r": 0, "t": 10, "b": 60}
    )


def looking(figure: go.Figure, at: Float[np.ndarray, " mode"]) -> go.Figure:
    """Look at one side of the sphere, the one where most of the paths lie."""
    size = float(np.linalg.norm(at))
    eye = 1.3 * at / size if size > 0 else np.array([1.0, 0.8, 0.8])
    axis = {"range": [-REACH, REACH]}
    camera = {"eye": dict(zip("xyz", map(float, eye), strict=True))}
    return figure.update_layout(
        scene={"xaxis": axis, "yaxis": axis, "zaxis": axis, "aspectmode": "cube", "camera": camera}
    )


def wires() -> Points:
    """Meridians and parallels of the unit sphere, 30° apart, as one line with gaps."""
    turn, gap = np.radians(np.linspace(0, 360, 73)), np.full((1, 3), np.nan)
    lines = []
    for angle in np.radians(np.arange(0, 180, 30)):
        lines += [np.stack([np.cos(angle) * np.cos(turn), np.sin(angle) * np.cos(turn), np.sin(turn)], -1), gap]
    for height in np.radians(np.arange(-60, 90, 30)):
        level = np.full_like(turn, np.sin(height))
        lines += [np.stack([np.cos(height) * np.cos(turn), np.cos(height) * np.sin(turn), level], -1), gap]
    return np.concatenate(lines)


def line(points: Points, colour: str, width: int) -> go.Scatter3d:
    """A line in space."""
    x, y, z = points.T
    return go.Scatter3d(x=x, y=y, z=z, mode="lines", line={"color": colour, "width": width})


def add_cloud(figure: go.Figure, results: xr.DataTree, points: Points) -> None:
    """Embeddings of other tokens, for orientation."""
    if not len(points):
        return
    x, y, z = points.T
    texts = array(results, "travel/cloud_text").values if has(results, "travel/cloud_text") else [""] * len(points)
    cloud = go.Scatter3d(x=x, y=y, z=z, mode="markers", name="token embeddings", text=[token(text) for text in texts])
    cloud.update(
        marker={"color": NULL, "size": 1.6, "opacity": 0.5}, hovertemplate="‘%{text}’, embedding<extra></extra>"
    )
    figure.add_trace(cloud)


def add_path(figure: go.Figure, results: xr.DataTree, way: Way, position: int, look: Look) -> End:
    """One token's path, a dot for every layer; what stands at its end."""
    text = token(array(results, "travel/text").values[position])
    path, dots = way
    name = f"{position}: {text}"
    stroke = line(path, look.colour, 4).update(line={"dash": look.dash}, name=name, legendgroup=name)
    figure.add_trace(stroke.update(hoverinfo="skip", showlegend=False))
    x, y, z = dots.T
    sizes = np.where(np.arange(len(dots)) == len(dots) - 1, 9, 4.5)
    stops = go.Scatter3d(x=x, y=y, z=z, mode="markers", name=name, legendgroup=name, marker={"color": look.colour})
    stops.update(marker={"size": sizes, "opacity": 1, "symbol": look.symbol})
    stops.update(customdata=hover(results, position, text, len(dots)))
    stops.update(hovertemplate="layer %{customdata[0]}<br>‘%{customdata[1]}’%{customdata[2]}<extra></extra>")
    figure.add_trace(stops)
    return End(dots[-1], text, look.colour)


def hover(results: xr.DataTree, position: int, text: str, layers: int) -> list[list[str]]:
    """Layer, token and what its state decodes to, for every layer."""
    if not (has(results, "travel/top_text") and has(results, "travel/top_probability")):
        return [[str(layer), text, ""] for layer in range(layers)]
    top, share = array(results, "travel/top_text").values, numbers(results, "travel/top_probability")
    return [
        [
            str(layer),
            text,
            f" → ‘{token(top[layer, position, 0])}’ {number(100 * share[layer, position, 0])} %",
        ]
        for layer in range(layers)
    ]


def shown_tokens(results: xr.DataTree) -> Int[np.ndarray, " token"]:
    """The last tokens of those that count."""
    return np.flatnonzero(counted(results))[-TOKENS:]


def paths_finding(results: xr.DataTree) -> str:
    """How long the way of the mean token is."""
    length = numbers(results, "travel/length")[counted(results)]
    if not np.isfinite(length).any():
        return f"The length of the paths is {NOT_ESTIMABLE}"
    found = f"Tokens travel {number(float(np.nanmean(length)))}° over the sphere on average"
    null = optional(results, "travel/length_null")
    return found if null is None else f"{found}; {CONTROL} {number(float(null))}°"


def own_share_finding(results: xr.DataTree) -> str:
    """How much of the paths their own three directions hold."""
    held = float(numbers(results, "travel/path_share_own").sum())
    if not np.isfinite(held):
        return f"How much of the paths three directions hold is {NOT_ESTIMABLE}"
    return f"Three directions of their own hold {number(100 * held)} % of the states’ variance"


def umap_finding(results: xr.DataTree) -> str:
    """What the picture holds, and what not to read in it."""
    places = numbers(results, "travel/umap")
    if not np.isfinite(places).any():
        return f"The places of states by UMAP are {NOT_ESTIMABLE}"
    return f"UMAP places {places.shape[0] * places.shape[1]} states among the token embeddings; distances say nothing"


NEEDS = ("travel/text", "travel/counted")
WORDS = (
    "Drag to turn. The dots of a path are layers, the large one the last; point at them for layer, token and what the "
    f"state decodes to. The last {TOKENS} tokens of the text, written where there is room, the first {COLOURS} of them "
    "as lines with round dots, the others dashed; a click in the legend hides one. Grey dots: embeddings of other "
    "tokens. "
)
FORMULA = "p / |p| of p = V u, u the unit vector of a state after the final norm, V the three directions"

FIGURES = (
    Figure(
        "travel-paths",
        "sphere",
        ("travel/coordinate", "travel/length", *NEEDS),
        paths_finding,
        drawing("coordinate"),
        f"{WORDS}The three axes are those along which the token embeddings vary most (PCA). They often hold a few "
        "per cent of the states' variance: distances here are not those of the space, but great circles stay such.",
        f"{FORMULA} of largest variance of up to 5000 token embeddings; length: Σ of the angles between layers",
        "Molina (2023); docs/measures.md",
    ),
    Figure(
        "travel-paths-own",
        "sphere",
        ("travel/coordinate_own", "travel/path_share_own", *NEEDS),
        own_share_finding,
        drawing("coordinate_own"),
        f"{WORDS}The three axes are those along which the states of this text vary most, all layers together: they "
        "show more of the paths and less of the vocabulary.",
        f"{FORMULA} of largest variance of the states themselves",
        "docs/measures.md",
    ),
    Figure(
        "travel-umap",
        "sphere",
        ("travel/umap", *NEEDS),
        umap_finding,
        in_space,
        f"{WORDS}UMAP keeps neighbours together and neither distances nor straight lines: read who stands near whom.",
        "UMAP with cosine distances in three dimensions, fitted on up to 5000 token embeddings",
        "Molina (2023); McInnes, Healy & Melville (2018)",
    ),
)

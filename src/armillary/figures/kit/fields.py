"""Fields: matrices as colours, one or a slider through the layers."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from plotly.basedatatypes import BaseTraceType

from armillary.figures.kit.colours import DIVERGING, SEQUENTIAL
from armillary.figures.kit.style import panels

TITLES = 24
"""Height that the titles of panels take, in pixels."""

MATRICES = 12
"""The most layers that a slider or a set of panels shows."""

BAR = 70
"""Height that a colour bar takes, in pixels."""


def heatmap(
    values: Float[np.ndarray, "row column"],
    bar: str,
    limits: tuple[float, float],
    signed: bool = True,
    **more: object,
) -> go.Heatmap:
    """A matrix as colours, row 0 on top once the axis is reversed; `limits` are those of the colours."""
    scale = {"colorscale": DIVERGING if signed else SEQUENTIAL, "zmin": limits[0], "zmax": limits[1]}
    shown = {"hovertemplate": "%{y}, %{x}: %{z:.3g}<extra></extra>", "hoverongaps": False}
    return go.Heatmap(z=values.astype(np.float32), colorbar=ruler(bar), **(scale | shown | more))


def ruler(text: str, height: int = 400, over: int = 0) -> dict[str, object]:
    """A colour bar that lies above the plot, `over` pixels over it, and leaves its width to the matrix.

    It is held by its middle: held by its bottom, plotly moves the title of the whole figure out of sight.
    """
    above = 1 + (BAR / 2 + over) / (height - BAR)
    place = {"orientation": "h", "x": 0.5, "xanchor": "center", "y": above, "yanchor": "middle"}
    return place | {
        "title": {"text": text, "side": "top"},
        "lenmode": "pixels",
        "len": 240,
        "thickness": 10,
        "outlinewidth": 0,
        "tickfont": {"size": 11},
    }


def field(trace: go.Heatmap, across: str, up: str, height: int = 400) -> go.Figure:
    """One matrix, square, its first row on top."""
    figure = panels(height=height)
    figure.add_trace(trace)
    return squared(figure, across, up)


def squared(figure: go.Figure, across: str, up: str) -> go.Figure:
    """Cells as wide as high, the diagonal from the upper left, and room above for the colour bar."""
    figure.update_layout(margin={"t": BAR}, height=figure.layout.height + BAR)
    figure.update_xaxes(title_text=across, constrain="domain", showgrid=False, ticks="outside")
    return figure.update_yaxes(
        title_text=up,
        autorange="reversed",
        scaleanchor="x",
        constrain="domain",
        constraintoward="bottom",
        showgrid=False,
    )


def squared_each(figure: go.Figure, toward: str = "middle") -> go.Figure:
    """Of several panels each square by itself, where `squared` has bound all of them to the first."""
    for panel, axis in enumerate(figure.select_yaxes(), 1):
        axis.update(scaleanchor=f"x{panel if panel > 1 else ''}", constraintoward=toward)
    return figure


def slider(
    figure: go.Figure,
    steps: Sequence[Sequence[BaseTraceType]],
    labels: Sequence[str],
    active: int | None = None,
    titles: Sequence[str] = (),
) -> go.Figure:
    """Show one layer's traces at a time, `active` to begin with, else the middle one, and a slider below to choose.

    `titles` are the findings of the steps, for pages whose title follows the slider. A legend moves above the plot: its
    place below is the slider's.
    """
    active = len(steps) // 2 if active is None else active
    if titles:
        figure.update_layout(meta={"titles": list(titles)})
    owners = [step for step, traces in enumerate(steps) for _ in traces]
    for step, traces in enumerate(steps):
        for trace in traces:
            figure.add_trace(trace)
            figure.data[-1].visible = step == active
    choices = [
        {"method": "restyle", "label": label, "args": ["visible", [owner == step for owner in owners]]}
        for step, label in enumerate(labels)
    ]
    height = figure.layout.height
    control = {"active": active, "steps": choices, "currentvalue": {"prefix": "layer ", "font": {"size": 13}}}
    control |= {"x": 0, "len": 1, "y": 0, "yanchor": "top", "pad": {"t": 50, "b": 10, "l": 0, "r": 10}}
    legend = {"y": 1.01, "yanchor": "bottom"}
    return figure.update_layout(sliders=[control], height=height + 90, margin={"b": 138}, legend=legend)

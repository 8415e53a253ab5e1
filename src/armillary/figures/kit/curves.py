"""Curves over layers: estimates with their error bands, plain values, and nulls as dashed grey lines."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float

from armillary.figures.kit.colours import ESTIMATE, NULL, POSITION, PUBLISHED, transparent
from armillary.figures.kit.style import axes, panels
from armillary.results.reading import Estimate, estimate, optional

Layers = Float[np.ndarray, " layer"]

CORRECTED, PLUG_IN = "bias-corrected", "plug-in"
PLUG_IN_NULL = "circular-shift null of the plug-in"
"""The legend of figures that show an estimate in both ways."""


def draw_estimate(
    figure: go.Figure, one: Estimate, name: str, colour: str = ESTIMATE, row: int = 1, column: int = 1
) -> None:
    """A curve with its error band: the 95 % interval, or the leave-one-group-out range."""
    low, high = one.band()
    across, up = band_outline(np.arange(one.value.size, dtype=np.float64), low, high)
    if across.size:
        band = go.Scatter(x=across, y=up, mode="lines", fill="toself", fillcolor=transparent(colour), line={"width": 0})
        figure.add_trace(band.update(hoverinfo="skip", showlegend=False, legendgroup=name), row, column)
    draw_line(figure, one.value, name, colour, "solid", row, column, np.stack([low, high], -1))


def draw_line(
    figure: go.Figure,
    values: Layers,
    name: str,
    colour: str,
    dash: str = "solid",
    row: int = 1,
    column: int = 1,
    interval: Float[np.ndarray, "layer 2"] | None = None,
) -> None:
    """A curve over layers, named once in the legend however many panels show it."""
    known = interval is not None and bool(np.isfinite(interval).any())
    trace = go.Scatter(
        x=np.arange(values.size),
        y=values,
        mode="lines+markers" if dash == "solid" else "lines",
        name=name,
        legendgroup=name,
        showlegend=name not in {shown.name for shown in figure.data if shown.showlegend is not False},
        line={"color": colour, "dash": dash, "width": 2 if dash == "solid" else 1.5},
        marker={"size": 5},
        customdata=interval if known else None,
        hovertemplate="%{x}: %{y:.4g}" + (" (%{customdata[0]:.4g} to %{customdata[1]:.4g})" if known else ""),
    )
    figure.add_trace(trace, row, column)


def draw_null(
    figure: go.Figure, values: Layers, name: str = "null", row: int = 1, column: int = 1, dash: str = "dash"
) -> None:
    """What the measure gives without an effect; a second null of the same panel is dotted."""
    draw_line(figure, values, name, NULL, dash, row, column)


def band_outline(
    across: Float[np.ndarray, " layer"], low: Layers, high: Layers
) -> tuple[Float[np.ndarray, " corner"], Float[np.ndarray, " corner"]]:
    """Corners of the band, one closed shape per run of known values with a gap between; a lone value gets a width."""
    known = np.isfinite(low) & np.isfinite(high)
    cuts = np.flatnonzero(np.diff(known.astype(int))) + 1
    xs: list[float] = []
    ys: list[float] = []
    for run in np.split(np.arange(known.size), cuts):
        if not known[run].all() or not run.size:
            continue
        x, lower, upper = across[run], low[run], high[run]
        if run.size == 1:
            x, lower, upper = x + np.array([-0.12, 0.12]), np.repeat(lower, 2), np.repeat(upper, 2)
        xs += [*x, *x[::-1], np.nan]
        ys += [*upper, *lower[::-1], np.nan]
    return np.array(xs), np.array(ys)


def layer_axis(figure: go.Figure, count: int) -> None:
    """Whole numbers along the layers."""
    columns = len({axis.domain for axis in figure.select_xaxes()})
    step = next(step for step in (1, 2, 5, 10, 20, 50, count) if count <= 13 * step / columns or step >= count)
    figure.update_xaxes(range=[-0.4, count - 0.6], tick0=0, dtick=step)


def corrected_curve(results: xr.DataTree, name: str, up: str, **more: object) -> go.Figure:
    """The bias-corrected estimate of position and its band; the plug-in estimate dotted, with its own null."""
    corrected = estimate(results, f"{name}_corrected")
    figure = panels()
    draw_estimate(figure, corrected, CORRECTED, POSITION)
    plug_in, null = optional(results, name), optional(results, f"{name}_null")
    if plug_in is not None:
        draw_line(figure, plug_in, PLUG_IN, PUBLISHED, "dot")
    if null is not None:
        draw_null(figure, null, PLUG_IN_NULL)
    axes(figure, corrected.axis, up, **more)
    layer_axis(figure, corrected.value.size)
    return figure


def labelled_curve(results: xr.DataTree, paths: dict[str, tuple[str, str]], up: str, **more: object) -> go.Figure:
    """Several estimates over the same layers in one panel: the legend's name of each, its path and its colour."""
    figure = panels()
    shown = [estimate(results, path) for path, _ in paths.values()]
    for curve, (name, (_, colour)) in zip(shown, paths.items(), strict=True):
        draw_estimate(figure, curve, name, colour)
    axes(figure, shown[0].axis, up, **more)
    layer_axis(figure, max(curve.value.size for curve in shown))
    return figure

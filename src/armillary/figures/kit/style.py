"""How every figure looks: fonts, margins, light and dark, and text that stays text."""

import html
import textwrap
from collections.abc import Iterable

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from plotly.subplots import make_subplots

from armillary.figures.kit.colours import SERIES, THEMES
from armillary.figures.kit.words import RAISED
from armillary.system.texts import seen

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
HEIGHT = 400
TITLE_LETTERS = 46  # a line of a title at 15 px is then narrower than a phone's 390 px


def template(theme: str = "light") -> go.layout.Template:
    """The layout that figures share, for a light or a dark page."""
    colours = THEMES[theme]
    axis: dict[str, object] = {
        "automargin": True,
        "ticks": "outside",
        "title": {"standoff": 8},
        "exponentformat": "power",
    }
    axis |= dict.fromkeys(("gridcolor", "zerolinecolor", "linecolor", "tickcolor"), colours["grid"])
    layout = go.Layout(
        paper_bgcolor=colours["paper"],
        plot_bgcolor=colours["paper"],
        font={"family": FONT, "size": 13, "color": colours["ink"]},
        title={"font": {"size": 15}, "x": 0, "xanchor": "left", "y": 1, "yanchor": "top", "pad": {"t": 14, "l": 12}},
        colorway=SERIES,
        xaxis=axis,
        yaxis=axis,
        margin={"l": 52, "r": 14, "t": 24, "b": 48},
        hoverlabel={"font": {"family": FONT, "size": 12}},
        annotationdefaults={"font": {"size": 13}},
    )
    return go.layout.Template(layout=layout)


def literal(text: str, letters: int = 60) -> str:
    """A token's or document's text as plotly will show it letter by letter, cut to a length.

    Plotly reads tags, entities and, where MathJax is near, dollars in any text. It knows &lt; and &gt; but not &quot;.
    """
    cut = text if len(text) <= letters else text[: letters - 1] + "…"
    return html.escape(cut, quote=False).replace("$", "&#36;")


def token(text: object, letters: int = 24) -> str:
    """A token's text as plotly will show it; blanks alone as marks."""
    return literal(seen(str(text)), letters)


def panels(
    rows: int = 1,
    columns: int = 1,
    titles: tuple[str, ...] = (),
    height: int = HEIGHT,
    one_scale: bool = False,
    gap: int = 90,
) -> go.Figure:
    """An empty figure of one or more panels, in the common style; with one scale, panels share their vertical axis.

    `gap` is the room between rows in pixels, for ticks, a title and what else stands there.
    """
    spacing = {"horizontal_spacing": 0.1 / columns + 0.03, "vertical_spacing": min(gap / (height - 170), 0.9 / rows)}
    names = [literal(title) for title in titles] or None
    figure = make_subplots(rows, columns, subplot_titles=names, shared_yaxes="all" if one_scale else False, **spacing)
    top = 30 if titles else 24
    below = 66 / (height - top - 48)
    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": -below, "yanchor": "top", "font": {"size": 12}}
    return figure.update_layout(template=template(), height=height, margin={"t": top}, legend=legend)


def axes(figure: go.Figure, across: str, up: str, **more: object) -> go.Figure:
    """Name the axes: across below the lowest panels, up beside the leftmost."""
    figure.for_each_yaxis(lambda axis: axis.update(title_text=up) if axis.anchor in first_column(figure) else None)
    figure.for_each_xaxis(lambda axis: axis.update(title_text=across) if axis.anchor in lowest_row(figure) else None)
    figure.update_yaxes(**more)
    unclipped(figure)
    return log_ticks(figure) if more.get("type") == "log" else figure


def unclipped(figure: go.Figure) -> None:
    """Dots at the edge of a panel are drawn whole; those beyond a range that was chosen stay outside."""
    for trace in figure.select_traces({"type": "scatter"}):
        axis = figure.layout[(trace.yaxis or "y").replace("y", "yaxis", 1)]
        values = np.asarray(trace.y if trace.y is not None else [], dtype=np.float64)
        known = values[np.isfinite(values)]
        inside = (
            axis.range is None or not known.size or (min(axis.range) <= known.min() and known.max() <= max(axis.range))
        )
        if inside and "markers" in str(trace.mode):
            trace.cliponaxis = False


def log_ticks(figure: go.Figure) -> go.Figure:
    """Numbers along logarithmic axes: plotly writes a lone 5 for 0.5 and for 50 where there are few decades."""
    together = any(axis.matches for axis in figure.select_yaxes())
    most = 10 if len(list(figure.select_yaxes())) == 1 else 6  # panels below each other are low
    for axis in figure.select_yaxes():
        name = axis.plotly_name.replace("axis", "")
        shown = [np.asarray(trace.y, dtype=float) for trace in figure.data if together or (trace.yaxis or "y") == name]
        values = np.concatenate([[], *shown])
        values = values[np.isfinite(values) & (values > 0)]
        if values.size:
            least, largest = float(values.min()), float(values.max())
            ticks = ticks_between(least, largest, most)
            axis.update(tickmode="array", tickvals=list(ticks), ticktext=list(ticks.values()))
            if axis.range is None and sum(least <= tick <= largest for tick in ticks) < 2:
                axis.update(range=np.log10(between_ticks(least, largest, ticks)).tolist())
    return figure


def between_ticks(least: float, largest: float, ticks: Iterable[float]) -> tuple[float, float]:
    """The nearest ticks around values that lie close together: without two numbers a logarithmic axis says nothing."""
    low, high = max(tick for tick in ticks if tick <= least), min(tick for tick in ticks if tick >= largest)
    return (low, high) if low < high else (low / 2, high * 2)


def log_axis(values: Float[np.ndarray, " value"]) -> dict[str, object]:
    """What makes an axis logarithmic, with round numbers along the range of the positive ones of these values."""
    known = values[np.isfinite(values) & (values > 0)]
    ticks = ticks_between(float(known.min()), float(known.max())) if known.size else {}
    return {"type": "log", "tickmode": "array", "tickvals": list(ticks), "ticktext": list(ticks.values())}


def ticks_between(least: float, largest: float, most: int = 10) -> dict[float, str]:
    """Round numbers along a logarithmic axis, about `most` of them, and how they are written."""
    low, high = int(np.floor(np.log10(least))), int(np.ceil(np.log10(largest)))
    decades = high - low
    if decades > 4:
        powers = range(low, high + 1, -(-decades // most))
        return {10.0**power: "1" if power == 0 else "10" + str(power).translate(RAISED) for power in powers}
    between = (1, 2, 5) if decades <= 2 else (1, 3)
    ticks = [first * 10.0**power for power in range(low, high + 1) for first in between]
    return {tick: f"{tick:.12g}" for tick in ticks}


def first_column(figure: go.Figure) -> set[str]:
    """The x axes of the leftmost panels."""
    return {axis.plotly_name.replace("axis", "") for axis in figure.select_xaxes() if (axis.domain or (0,))[0] < 1e-6}


def lowest_row(figure: go.Figure) -> set[str]:
    """The y axes of the lowest panels."""
    return {axis.plotly_name.replace("axis", "") for axis in figure.select_yaxes() if (axis.domain or (0,))[0] < 1e-6}


def titled(figure: go.Figure, text: str, theme: str = "light") -> go.Figure:
    """The figure with its finding above it, broken into lines that fit a phone, for a light or a dark page."""
    lines = textwrap.wrap(text, TITLE_LETTERS, break_on_hyphens=False) or [""]
    room = 21 * len(lines) + 10
    top = (figure.layout.margin.t or 0) + room
    height = (figure.layout.height or HEIGHT) + room
    title = "<br>".join(literal(line, len(line)) for line in lines)
    return figure.update_layout(title={"text": title}, margin={"t": top}, height=height, template=template(theme))

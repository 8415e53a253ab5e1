"""Massive activations: which tokens, at which positions, how large their norms."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.colours import ESTIMATE, NULL, THRESHOLD, series
from armillary.figures.kit.curves import draw_line, layer_axis
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, literal, panels
from armillary.figures.kit.words import number
from armillary.results.reading import array, has, massive_times, numbers

DRAWN, COLOURED = 200, 6
"""The most tokens that are drawn, largest norm first, and the most texts that have a colour of their own."""


def outlier_table(results: xr.DataTree) -> pd.DataFrame:
    """One row per token, largest norm first: text, window, position, its largest ratio and the layer of it."""
    ratio = numbers(results, "outliers/ratio")
    rows = pd.DataFrame(
        {
            "text": array(results, "outliers/text").values.astype(str),
            "context": array(results, "outliers/context").values,
            "position": array(results, "outliers/position").values,
            "ratio": ratio.max(1) if ratio.size else np.zeros(0),
            "layer": ratio.argmax(1) if ratio.size else np.zeros(0, dtype=np.int64),
        }
    )
    return rows.sort_values("ratio", ascending=False, kind="stable")


def outliers(results: xr.DataTree) -> go.Figure:
    """Above, every token's norm through the layers; below, its position in the window."""
    ratio, rows = numbers(results, "outliers/ratio"), outlier_table(results).head(DRAWN)
    if rows.empty:
        return no_outliers(results)
    figure = panels(2, 1, ("by layer", "by position in the window"), height=600)
    common = list(rows.text.value_counts().head(COLOURED).index)
    for text, colour in zip([*common, None], [*series(len(common)), NULL], strict=True):
        some = rows[rows.text == text] if text is not None else rows[~rows.text.isin(common)]
        if len(some):
            draw_tokens(figure, ratio, some, "other tokens" if text is None else f"‘{literal(str(text), 24)}’", colour)
    figure.add_hline(massive_times(results), line={"dash": "dash", "color": THRESHOLD}, row=1, col=1)
    layer_axis(figure, ratio.shape[1])
    figure.update_xaxes(autorange=True, range=None, dtick=None, title_text="position", row=2, col=1)
    figure.update_xaxes(title_text="layer", row=1, col=1)
    axes(figure, "position", "norm / median norm", type="log")
    return figure.update_layout(legend={"itemsizing": "constant"})


def no_outliers(results: xr.DataTree) -> go.Figure:
    """The largest norm of each layer below the threshold that none has passed."""
    layers = array(results, "outliers/ratio").sizes["layer"]
    figure = panels()
    if has(results, "residual/norm_largest") and has(results, "outliers/median_norm"):
        ratio = numbers(results, "residual/norm_largest").max(1) / numbers(results, "outliers/median_norm")
        draw_line(figure, ratio, "largest norm of each layer", ESTIMATE)
    draw_line(figure, np.full(layers, massive_times(results)), "threshold", THRESHOLD, "dash")
    layer_axis(figure, layers)
    return axes(figure, "layer", "norm / median norm", type="log")


def draw_tokens(figure: go.Figure, ratio: np.ndarray, some: pd.DataFrame, name: str, colour: str) -> None:
    """Tokens of one text: a line each through the layers, a dot each over positions."""
    gap = np.full((len(some), 1), np.nan)
    lines = np.concatenate([ratio[some.index], gap], 1).ravel()
    across = np.tile([*range(ratio.shape[1]), np.nan], len(some))
    line = {"color": colour, "width": 1.2}
    figure.add_trace(go.Scatter(x=across, y=lines, name=name, legendgroup=name, line=line, mode="lines"), 1, 1)
    dots = go.Scatter(x=some.position, y=some.ratio, name=name, legendgroup=name, mode="markers", showlegend=False)
    dots.update(marker={"color": colour, "size": 7}, customdata=some[["context", "layer"]].values)
    dots.update(hovertemplate="position %{x}, window %{customdata[0]}: %{y:.0f} times in layer %{customdata[1]}")
    figure.add_trace(dots, 2, 1)


def outliers_finding(results: xr.DataTree) -> str:
    """How many, how large, which."""
    rows = outlier_table(results)
    if rows.empty:
        return f"No token of this text exceeds {massive_times(results):g} times the median norm of a layer"
    texts = rows.text.value_counts()
    named = ", ".join(f"‘{text[:20]}’ ×{count}" for text, count in texts.head(3).items())
    first = rows.iloc[0]
    count = "1 token has a" if len(rows) == 1 else f"{len(rows)} tokens have a"
    finding = f"{count} massive norm, up to {number(float(first.ratio))} times the median (layer {int(first.layer)})"
    return f"{finding}: {named}{', …' if len(texts) > 3 else ''}"


FIGURES = (
    Figure(
        "outlier-tokens",
        "states",
        ("outliers/ratio", "outliers/text", "outliers/position", "outliers/context"),
        outliers_finding,
        outliers,
        "Tokens whose norm exceeds a multiple of the layer's median in some layer (dashed line), by layer and by "
        f"position. At most {DRAWN} are drawn, largest norm first; the {COLOURED} commonest texts have a colour.",
        "‖h‖ / median ‖h‖ of the layer, the median over the first windows of the survey",
        "massive activations: Sun et al. (2024)",
    ),
)

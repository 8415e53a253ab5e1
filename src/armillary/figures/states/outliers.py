"""Massive activations: which tokens, at which positions, how large their norms."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Bool

from armillary.figures.kit.colours import ESTIMATE, NULL, POSITION, THRESHOLD, series
from armillary.figures.kit.curves import draw_line, layer_axis
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels, token
from armillary.figures.kit.words import largest, layer_ranges, number
from armillary.results.reading import array, first_ratios, has, massive_times, numbers
from armillary.system.texts import in_quotes

DRAWN, COLOURED = 200, 6
"""The most tokens that are drawn, largest norm first, and the most texts that have a colour of their own."""

FEW = 12
"""Below this position the axis counts every one."""

FIRST = "the first token (position 0)"


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
            draw_tokens(figure, ratio, some, "other tokens" if text is None else f"‘{token(text)}’", colour)
    draw_first(figure, results)
    figure.add_hline(massive_times(results), line={"dash": "dash", "color": THRESHOLD}, row=1, col=1)
    layer_axis(figure, ratio.shape[1])
    whole = 1 if rows.position.max() < FEW else None  # else plotly writes tenths of a position
    figure.update_xaxes(autorange=True, range=None, tick0=0, dtick=whole, title_text="position", row=2, col=1)
    figure.update_xaxes(title_text="layer", row=1, col=1)
    axes(figure, "position", "norm / median norm", type="log")
    return figure.update_layout(legend={"itemsizing": "constant"})


def no_outliers(results: xr.DataTree) -> go.Figure:
    """The largest norm of each layer, and the first token's, beside the threshold that no other has passed."""
    layers = array(results, "outliers/ratio").sizes["layer"]
    figure = panels()
    draw_first(figure, results)
    if has(results, "residual/norm_largest") and has(results, "outliers/median_norm"):
        largest_norm = array(results, "residual/norm_largest")
        first_kept = "position" in largest_norm.coords and int(largest_norm.position.values[0]) == 0
        later = largest_norm.values[:, 1 if first_kept else 0 :].astype(np.float64).max(1)
        draw_line(figure, later / numbers(results, "outliers/median_norm"), "largest norm of later tokens", ESTIMATE)
    draw_line(figure, np.full(layers, massive_times(results)), "threshold", THRESHOLD, "dash")
    layer_axis(figure, layers)
    return axes(figure, "layer", "norm / median norm", type="log")


def draw_first(figure: go.Figure, results: xr.DataTree) -> None:
    """The first token's norm through the layers, where it is known."""
    first = first_ratios(results)
    if first is not None and np.isfinite(first).any():
        draw_line(figure, first, FIRST, POSITION)
        if len(list(figure.select_xaxes())) > 1:
            best = largest(first)
            dot = go.Scatter(x=[0], y=[first[best]], mode="markers", name=FIRST, legendgroup=FIRST, showlegend=False)
            dot.update(marker={"color": POSITION, "size": 9}, customdata=[["all", best]])
            dot.update(hovertemplate="position 0, mean of all windows: %{y:.0f} times in layer %{customdata[1]}")
            figure.add_trace(dot, 2, 1)


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


def massive_first(results: xr.DataTree) -> Bool[np.ndarray, " layer"]:
    """In which layers the first token is massive; in none where it is not known."""
    first = first_ratios(results)
    layers = array(results, "outliers/ratio").sizes["layer"]
    return np.zeros(layers, dtype=bool) if first is None else np.nan_to_num(first) > massive_times(results)


def outliers_finding(results: xr.DataTree) -> str:
    """Which token is the most massive: the first of a window, or some other."""
    rows, first, times = outlier_table(results), first_ratios(results), massive_times(results)
    if first is not None and massive_first(results).any():
        layer = largest(first)
        return f"The first token reaches {number(float(first[layer]))} times the median norm (layer {layer})"
    if rows.empty:
        return f"No token of this text exceeds {times:g} times the median norm of a layer"
    top = rows.iloc[0]
    count = "1 token reaches" if len(rows) == 1 else f"{len(rows)} tokens reach up to"
    return f"{count} {number(float(top.ratio))} times the median norm (layer {int(top.layer)})"


def outliers_detail(results: xr.DataTree) -> str:
    """Where the first token is massive and what it does to the shares; which other tokens are, and where they stand."""
    rows, first = outlier_table(results), massive_first(results)
    sentences = []
    if first.any():
        rule = "left out of all results" if has(results, "residual/first") else "kept in all results"
        sentences.append(f"The first token: above {massive_times(results):g} times in {layer_ranges(first)}; {rule}")
        sentences += shares_with_first(results)
    if not rows.empty:
        texts = rows.text.value_counts()
        named = ", ".join(f"{in_quotes(str(text))} ×{count}" for text, count in texts.head(3).items())
        low, high = int(rows.position.min()), int(rows.position.max())
        place = f"at position {low}" if low == high else f"at positions {low} to {high}"
        count = "1 other token" if len(rows) == 1 else f"{len(rows)} other tokens"
        rule = {"drop": ", left out", "keep": ", kept"}.get(str(results.attrs.get("outliers")), "")
        most = number(float(rows.iloc[0].ratio))
        more = ", …" if len(texts) > 3 else ""
        sentences.append(f"{count}{rule}, up to {most} times, {place}: {named}{more}")
    return ". ".join(sentences)


def shares_with_first(results: xr.DataTree) -> list[str]:
    """What the plug-in position share would be if the first token counted, in the layer where it changes most."""
    path = "influence/position_share_with_first"
    if not (has(results, path) and has(results, "variance/share")):
        return []
    kept, left_out = numbers(results, path), numbers(results, "variance/share", component=0)
    if not np.isfinite(kept - left_out).any():
        return []
    layer = largest(kept - left_out)
    words = [number(100 * float(values[layer])) for values in (kept, left_out)]
    return [f"With it the plug-in position share of layer {layer} would be {words[0]} % instead of {words[1]} %"]


FIGURES = (
    Figure(
        "outlier-tokens",
        "states",
        ("outliers/ratio", "outliers/text", "outliers/position", "outliers/context"),
        outliers_finding,
        outliers,
        "Tokens whose norm exceeds a multiple of the layer's median in some layer (dashed line), by layer and by "
        "position; the first token of the windows by the norm of its mean state. At most "
        f"{DRAWN} others are drawn, largest norm first; the {COLOURED} commonest texts have a colour.",
        "‖h‖ / median ‖h‖ of the layer, the median over the first windows of the survey",
        "massive activations: Sun et al. (2024)",
        outliers_detail,
    ),
)

"""How the variance of the hidden states, and of what attention receives, splits into position, context, residual."""

from functools import partial

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.colours import MEANINGS, NULL_ON_BARS, pale
from armillary.figures.kit.curves import draw_line, layer_axis
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import drawn
from armillary.figures.kit.words import NOT_ESTIMABLE, largest, number, span
from armillary.results.reading import array, has, numbers

COMPONENTS = ("position", "context", "residual")


def shares(results: xr.DataTree, group: str) -> go.Figure:
    """Shares of the three components, one bar per layer, stacked; nulls as lines inside their own part."""
    share, axis = drawn(results, f"{group}/share"), str(array(results, f"{group}/share").dims[0])
    figure = panels(height=420)
    for place, component in enumerate(COMPONENTS):
        bar = go.Bar(x=np.arange(len(share)), y=share[:, place], name=component)
        bar.update(marker={"color": pale(MEANINGS[component]), "line": {"width": 0}})
        figure.add_trace(bar.update(hovertemplate="%{x}: %{y:.2f} %"))
    if has(results, f"{group}/share_floor"):
        floor = drawn(results, f"{group}/share_floor")
        draw_line(figure, floor[:, 0], "null of position", NULL_ON_BARS, "dash")
        draw_line(figure, share[:, 0] + floor[:, 1], "null of context, above position", NULL_ON_BARS, "dot")
    figure.update_layout(barmode="stack", bargap=0.12)
    explained = float(np.nanmax(share[:, 0] + share[:, 1], initial=0.0))
    axes(figure, axis, "share of the variance, %", range=[0, min(100.0, 1.4 * explained) or 100.0])
    layer_axis(figure, len(share))
    return figure


def shares_finding(results: xr.DataTree, group: str, what: str) -> str:
    """The largest share of context."""
    context = numbers(results, f"{group}/share", component=1)
    if not np.isfinite(context).any():
        return f"The shares of {what} are {NOT_ESTIMABLE}"
    best, axis = largest(context), str(array(results, f"{group}/share").dims[0])
    return f"Context explains up to {number(100 * float(context[best]))} % of {what} ({axis} {best})"


def shares_detail(results: xr.DataTree, group: str) -> str:
    """The plug-in shares of position and context over the layers, beside their nulls."""
    share = numbers(results, f"{group}/share")
    detail = f"Plug-in shares: position {span(share[:, 0], '%')}, context {span(share[:, 1], '%')}"
    if not has(results, f"{group}/share_floor"):
        return detail
    floor = numbers(results, f"{group}/share_floor")
    return f"{detail}; without any effect {span(floor[:, 0], '%')} and {span(floor[:, 1], '%')}"


FIGURES = (
    Figure(
        "variance-shares",
        "states",
        ("variance/share",),
        partial(shares_finding, group="variance", what="the variance"),
        partial(shares, group="variance"),
        "How the variance of the hidden states splits: positional basis, context basis, and the residual component, "
        "which fills up to 100 % (the axis ends above the first two). A component no higher than its grey line is "
        "what a model without such an effect would show. Plug-in estimates, without an interval.",
        "h = mean + position + context + residual; C Σ‖pos‖² + T Σ‖ctx‖² + Σ‖resid‖² = Σ‖h − mean‖²; "
        "null of position SS_residual / ((C − 1) SS_total), of context (1 − position) / T",
        "Song & Zhong (2023), equations 2–4",
        partial(shares_detail, group="variance"),
    ),
    Figure(
        "attention-shares",
        "states",
        ("attention_variance/share",),
        partial(shares_finding, group="attention_variance", what="the attention's input"),
        partial(shares, group="attention_variance"),
        "The same split for what each block's attention receives, after the block's norm.",
        "h = mean + position + context + residual at the input of each attention; shares of Σ‖h − mean‖²",
        "Song & Zhong (2023), equations 2–4",
        partial(shares_detail, group="attention_variance"),
    ),
)

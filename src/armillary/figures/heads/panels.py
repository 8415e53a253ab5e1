"""The figure of one head in one window: the QK terms of its scores, the scores themselves, and the attention."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float

from armillary.figures.kit.each_head import labels, per_head
from armillary.figures.kit.fields import BAR, heatmap, ruler, squared, squared_each
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, literal, panels
from armillary.figures.kit.words import NOT_ESTIMABLE, error_words, quoted
from armillary.measures.constituents import less_key_mean
from armillary.results.reading import array, has, numbers
from armillary.results.schema.naming import PARTS

TERMS = {f"{query}_{key}": f"{query} → {key}" for query in PARTS[1:] for key in PARTS[1:]}
SCORES = TERMS | {"logits": "all logits"}
"""The panels of scores, query → key, by the names of their variables."""

COLUMNS = 2
"""Position and residual as key stand side by side, as query one above the other; so a phone is wide enough."""

ROW, GAP = 170, 50
"""Height of a panel and of the room below it, in pixels."""


def token_names(results: xr.DataTree) -> list[str]:
    """Every position with its token, as plotly may show it."""
    count = array(results, "six_panels/pattern").sizes["query"]
    texts = array(results, "six_panels/text").values.astype(str) if has(results, "six_panels/text") else [""] * count
    return [f"{place} {literal(text, 14)}".strip() for place, text in enumerate(texts)]


def less_row_means(scores: Float[np.ndarray, "query key"]) -> Float[np.ndarray, "query key"]:
    """Scores less the mean over the keys of each query, which no softmax sees; the first key does not count in it."""
    counted = np.isfinite(scores)
    counted[1:, 0] = False
    return less_key_mean(scores, counted)


def draw(results: xr.DataTree) -> go.Figure:
    """Five panels of scores on one signed scale, and the attention on its own."""
    rows, names = -(-(len(SCORES) + 1) // COLUMNS), token_names(results)
    height = 80 + rows * (ROW + GAP)
    figure = panels(rows, COLUMNS, (*SCORES.values(), "attention"), height=height, gap=GAP)
    scores = {name: less_row_means(numbers(results, f"six_panels/{name}")) for name in SCORES}
    # The first token often has a score far from all others, and would leave no colour for them.
    reach = max(float(np.nanmax(np.abs(values[1:, 1:]), initial=0.0)) for values in scores.values()) or 1.0
    hover: dict[str, object] = {"x": names, "y": names, "hovertemplate": "%{y} → %{x}: %{z:.3g}<extra></extra>"}
    for place, (name, values) in enumerate(scores.items()):
        trace = heatmap(values, "score", (-reach, reach), True, **hover).update(name=SCORES[name], showscale=place == 0)
        trace.update(colorbar=half_ruler("score", 0.22, height))
        figure.add_trace(trace, place // COLUMNS + 1, place % COLUMNS + 1)
    attention = numbers(results, "six_panels/pattern")
    trace = heatmap(attention, "attention", (0.0, float(np.nanmax(attention, initial=0.0)) or 1.0), False, **hover)
    trace.update(name="attention", colorbar=half_ruler("attention", 0.78, height))
    figure.add_trace(trace, rows, COLUMNS)
    squared_each(squared(figure, "", ""), "top")
    some = list(range(0, len(names), max(1, len(names) // 4)))
    ticks = {"tickmode": "array", "tickvals": some, "ticktext": [str(place) for place in some], "tickangle": 0}
    figure.update_xaxes(**ticks).update_yaxes(**ticks).update_annotations(font={"size": 12})
    figure.update_yaxes(showticklabels=False, col=COLUMNS)
    return axes(figure, "key", "query").update_layout(margin={"t": BAR + 40}, height=height + BAR + 10)


def half_ruler(text: str, across: float, height: int) -> dict[str, object]:
    """A colour bar that leaves room for another beside it, and for the titles of panels below it."""
    return ruler(text, height) | {"x": across, "y": 1 + 52 / (height - BAR), "len": 130, "nticks": 4}


def finding(results: xr.DataTree) -> str:
    """Which head it is."""
    place = [float(numbers(results, f"six_panels/{name}")) for name in ("block", "head")]
    if not np.isfinite(place).all() or not np.isfinite(numbers(results, "six_panels/logits")).any():
        return f"The QK terms of the example head are {NOT_ESTIMABLE}"
    return f"Example: the QK terms of L{place[0]:.0f}H{place[1]:.0f} in one window"


def detail(results: xr.DataTree) -> str:
    """Why this head was taken; one window is an example and no evidence."""
    place = [float(numbers(results, f"six_panels/{name}")) for name in ("block", "head")]
    path = "constituents/share"
    name = f"L{place[0]:.0f}H{place[1]:.0f}" if np.isfinite(place).all() else ""
    if not has(results, path) or name not in labels(results, path):
        return ""
    position = PARTS.index("position")
    terms = per_head(results, path, part_query=position, part_key=position)
    head = labels(results, path).index(name)
    share = quoted(float(terms.value[head]), float(terms.margin(terms.value.size)[head]), "%")
    return f"{name} has the largest position\u00a0→\u00a0position share of the logits' variance, {share}"


FIGURES = (
    Figure(
        "head-six-panels",
        "heads",
        (*(f"six_panels/{name}" for name in (*SCORES, "pattern", "block", "head")),),
        finding,
        draw,
        "The scores of the head with the largest position → position share, however small, in the run's first window: "
        "what the position vector and the residual add to them, as query (above, below) and as key (left, right), all "
        "of it with the mean's terms, and the attention that follows. Each row of scores is less its mean, which a "
        "softmax does not see. The first token counts neither in it nor in the scale, which the five panels of scores "
        f"share. Empty: masked. ± in the title: {error_words('constituents/share')}.",
        "q_a k_bᵀ for a, b in position, residual, with scale and rotation; logits before soft cap, ALiBi and mask",
        "Song & Zhong (2023), equation 10 and Figures 31 to 34; docs/measures.md",
        detail,
    ),
)

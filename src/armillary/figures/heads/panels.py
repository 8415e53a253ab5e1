"""The figure of one head in one window: the QK terms of its scores, the scores themselves, and the attention."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float

from armillary.figures.heads.names import every_kind
from armillary.figures.kit.each_head import labels, per_head
from armillary.figures.kit.fields import BAR, heatmap, ruler, slider, squared, squared_each
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels, token
from armillary.figures.kit.words import NOT_ESTIMABLE, error_words, number, quoted
from armillary.measures.constituents import less_key_mean
from armillary.results.reading import array, has, numbers
from armillary.results.schema.naming import KINDS, PARTS

TERMS = {f"{query}_{key}": f"{query} → {key}" for query in PARTS[1:] for key in PARTS[1:]}
SCORES = TERMS | {"logits": "all logits"}
"""The panels of scores, query → key, by the names of their variables."""

COLUMNS = 2
"""Position and residual as key stand side by side, as query one above the other; so a phone is wide enough."""

ROW, LARGE, GAP = 170, 260, 60
"""Height of a panel, of one whose tokens are named, and of the room below it, in pixels."""

NAMED = 40
"""The most tokens that are named along an axis."""

PLACES = {
    "induction": "to the token after the first occurrence",
    "duplicate": "to the first occurrence",
    "previous": "to the previous token",
}
"""Where a kind of head attends on repeated tokens."""


def token_names(results: xr.DataTree, group: str = "six_panels") -> list[str]:
    """Every position with its token, as plotly may show it."""
    count = array(results, f"{group}/pattern").sizes["query"]
    texts = array(results, f"{group}/text").values.astype(str) if has(results, f"{group}/text") else [""] * count
    return [f"{place} {token(text, 14)}".strip() for place, text in enumerate(texts)]


def less_row_means(scores: Float[np.ndarray, "query key"]) -> Float[np.ndarray, "query key"]:
    """Scores less the mean over the keys of each query, which no softmax sees; the first key does not count in it."""
    counted = np.isfinite(scores)
    counted[1:, 0] = False
    return less_key_mean(scores, counted)


def draw(results: xr.DataTree) -> go.Figure:
    """Five panels of scores on one signed scale, and the attention on its own."""
    names = token_names(results)
    figure, height = empty_panels(ROW)
    for place, trace in enumerate(head_traces(results, "six_panels", names, height)):
        figure.add_trace(trace, place // COLUMNS + 1, place % COLUMNS + 1)
    return with_tokens(figure, names, height)


def empty_panels(size: int) -> tuple[go.Figure, int]:
    """Room for six panels of a size, and its height without the colour bars."""
    rows = -(-(len(SCORES) + 1) // COLUMNS)
    height = 80 + rows * (size + GAP)
    return panels(rows, COLUMNS, (*SCORES.values(), "attention"), height=height, gap=GAP), height


def head_traces(results: xr.DataTree, group: str, names: list[str], height: int, **at: int) -> list[go.Heatmap]:
    """The five panels of scores on one signed scale, and the attention."""
    scores = {name: less_row_means(numbers(results, f"{group}/{name}", **at)) for name in SCORES}
    # The first token often has a score far from all others, and would leave no colour for them.
    reach = max(float(np.nanmax(np.abs(values[1:, 1:]), initial=0.0)) for values in scores.values()) or 1.0
    hover: dict[str, object] = {"x": names, "y": names, "hovertemplate": "%{y} → %{x}: %{z:.3g}<extra></extra>"}
    traces = []
    for place, (name, values) in enumerate(scores.items()):
        trace = heatmap(values, "score", (-reach, reach), True, **hover).update(name=SCORES[name], showscale=place == 0)
        traces.append(trace.update(colorbar=half_ruler("score", 0.22, height)))
    attention = numbers(results, f"{group}/pattern", **at)
    trace = heatmap(attention, "attention", (0.0, float(np.nanmax(attention, initial=0.0)) or 1.0), False, **hover)
    return [*traces, trace.update(name="attention", colorbar=half_ruler("attention", 0.78, height))]


def with_tokens(figure: go.Figure, names: list[str], height: int) -> go.Figure:
    """Axes of the six panels: tokens by name where there is room for all, else every few positions."""
    squared_each(squared(figure, "", ""), "top")
    few = len(names) <= NAMED
    some = list(range(0, len(names), 1 if few else max(1, len(names) // 4)))
    words = [names[place].partition(" ")[2] or names[place] if few else str(place) for place in some]
    ticks = {"tickmode": "array", "tickvals": some, "ticktext": words, "tickfont": {"size": 8 if few else 11}}
    figure.update_xaxes(**ticks, tickangle=-90 if few else 0).update_yaxes(**ticks)
    figure.update_annotations(font={"size": 12}).update_yaxes(showticklabels=False, col=COLUMNS)
    return axes(figure, "key", "query").update_layout(margin={"t": BAR + 40}, height=height + BAR + 10)


def draw_examples(results: xr.DataTree) -> go.Figure:
    """The same six panels of the heads of highest score in a window of repeated tokens; the slider chooses one."""
    names, steps = token_names(results, "head_examples"), []
    figure, height = empty_panels(LARGE)
    for place in range(array(results, "head_examples/kind").size):
        traces = head_traces(results, "head_examples", names, height, example=place)
        for panel, trace in enumerate(traces[1:], 2):
            trace.update(xaxis=f"x{panel}", yaxis=f"y{panel}")
        steps.append(traces)
    titles = example_titles(results)
    words = [title.partition(": ")[0].removeprefix("The clearest ") for title in titles]
    slider(with_tokens(figure, names, height), steps, words, 0, titles)
    # The names at both ends of the slider are long, and would be cut off where it is as wide as the figure.
    figure.layout.sliders[0].update(currentvalue={"prefix": ""}, name="head", x=0.2, len=0.6)
    return figure


def example_titles(results: xr.DataTree) -> list[str]:
    """Which head it is, and how much attention it gives to where its kind attends in this window."""
    group = results["head_examples"].to_dataset()
    held, titles = held_kinds(results), []
    for kind, block, head, pattern in zip(
        group.kind.values.astype(str), group.block.values, group["head"].values, group.pattern.values, strict=True
    ):
        words = KINDS.get(kind, kind)
        name = f"The clearest {words} head, L{block}H{head}"
        if held is not None and words not in held:
            name = f"No {words} head; nearest L{block}H{head}"
        share = hit_share(pattern.astype(np.float64), kind)
        given = f"{number(100 * share)} % of attention {PLACES[kind]}" if np.isfinite(share) and kind in PLACES else ""
        titles.append(f"{name}: {given}" if given else f"{name}: its attention is {NOT_ESTIMABLE}")
    return titles


def held_kinds(results: xr.DataTree) -> set[str] | None:
    """The kinds that some head of the model is, in the field's words; None where heads were not named."""
    if not has(results, "taxonomy/kind"):
        return None
    return {word for words in every_kind(results).ravel() for word in words.split(", ")}


def hit_share(pattern: Float[np.ndarray, "query key"], kind: str) -> float:
    """Mean attention of the second copy's tokens on the key that a kind attends to; a prefix stands before both."""
    size = len(pattern)
    copy = size // 2
    offset = {"induction": copy - 1, "duplicate": copy, "previous": 1}.get(kind, 0)
    queries = np.arange(size - copy, size)
    hits = pattern[queries, queries - offset]
    return float(np.nanmean(hits)) if np.isfinite(hits).any() else float("nan")


def examples_finding(results: xr.DataTree) -> str:
    """The title of the first head."""
    return example_titles(results)[0]


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


WORDS = (
    "The scores of a head on random tokens that are repeated once, taken apart: what the position vector and the "
    "residual add, as query (above, below) and as key (left, right), all logits with the mean's terms, and the "
    "attention that follows. A stripe off the diagonal in residual → residual is a head that matches tokens, one in "
    "position → position a head that counts positions. Each row of scores has its mean subtracted; the first "
    "token counts neither in it nor in the scale. Empty: masked. One window, an example: no interval. The slider "
    "chooses the head."
)

FIGURES = (
    Figure(
        "head-examples",
        "heads",
        (*(f"head_examples/{name}" for name in (*SCORES, "pattern", "block", "head", "kind")),),
        examples_finding,
        draw_examples,
        WORDS,
        "q_a k_bᵀ for a, b in position, residual, with scale and rotation; logits before soft cap, ALiBi and mask",
        "Song & Zhong (2023), Figure 6; docs/measures.md",
    ),
    Figure(
        "head-six-panels",
        "heads",
        (*(f"six_panels/{name}" for name in (*SCORES, "pattern", "block", "head")),),
        finding,
        draw,
        "The scores of the head with the largest position → position share, however small, in the run's first window: "
        "what the position vector and the residual add to them, as query (above, below) and as key (left, right), all "
        "of it with the mean's terms, and the attention that follows. Each row of scores has its mean subtracted, "
        "which changes no softmax. The first token counts neither in it nor in the scale, which the five panels of "
        "scores share. Empty: masked. ± of the share: "
        f"{error_words('constituents/share')}, all heads jointly.",
        "q_a k_bᵀ for a, b in position, residual, with scale and rotation; logits before soft cap, ALiBi and mask",
        "Song & Zhong (2023), equation 10 and Figures 31 to 34; docs/measures.md",
        detail,
    ),
)

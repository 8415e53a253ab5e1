"""Figures of named heads: which they are, by which scores against the random twin, and what moves their logits."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Bool, Float, Shaped

from armillary.figures.kit.each_head import (
    PerHead,
    dots,
    field_height,
    head_axes,
    head_field,
    labels,
    margins,
    per_head,
)
from armillary.figures.kit.fields import BAR, TITLES, ruler
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import NULL, PALETTE, axes, literal, panels
from armillary.figures.kit.words import number, quoted
from armillary.measures.errors.jackknife import half_width
from armillary.measures.taxonomy import GENERAL, SPECIAL
from armillary.results.reading import LEVEL, array, draws, has, numbers, optional

SCORES = SPECIAL | GENERAL
"""Every score, and the share of what is beyond the twin's reach that a name needs."""

KINDS = (*SCORES, "uniform", "")
"""Every name that a head can have, in the order of the legend; empty: none."""

Kinds = Shaped[np.ndarray, "block head"]


def kinds_of(results: xr.DataTree) -> Kinds:
    """The name of every head; a name that is not ours counts as none."""
    found = array(results, "taxonomy/kind").values.astype(str)
    return np.where(np.isin(found, KINDS), found, "")


def names(results: xr.DataTree) -> go.Figure:
    """Every head as a square, by block and number, coloured by its name."""
    kind = kinds_of(results)
    blocks, heads = kind.shape
    figure = panels(height=field_height(blocks) + 40)
    size = float(np.clip(min(300 / max(heads, 1), 330 / max(blocks, 1)), 4, 18))  # no square lies on another
    for place, name in enumerate(KINDS):
        block, head = np.nonzero(kind == name)
        colour = PALETTE[place] if name else NULL
        trace = go.Scatter(x=head, y=block, mode="markers", name=name or "no name")
        marker = {"symbol": "square" if name else "square-open", "size": size, "color": colour}
        trace.update(marker=marker, hovertemplate=f"L%{{y}}H%{{x}}: {name or 'no name'}<extra></extra>")
        if block.size:
            figure.add_trace(trace)
    figure.update_layout(showlegend=True, legend={"itemsizing": "constant"})
    return head_axes(axes(figure, "head", "block"), blocks, heads)


def names_finding(results: xr.DataTree) -> str:
    """How many heads have which name, and how many of these scores lie above the twin's beyond their errors."""
    kind = kinds_of(results)
    counts = {name: int((kind == name).sum()) for name in KINDS}
    told = [f"{count} {name}" for name, count in counts.items() if count and name]
    if not told:
        return f"None of {kind.size} heads gets a name: no score is clearly above that of the random twin"
    sentence = f"Of {kind.size} heads {', '.join(told)}; {counts['']} without a name"
    scored = sum(counts[name] for name in SCORES)
    missing = [name for name in SCORES if not has(results, f"taxonomy/{name}_null")]
    if not scored or missing:
        return sentence
    sure = sum(int((above_twin(results, name) & (kind.ravel() == name)).sum()) for name in SCORES)
    some = f"All {scored}" if sure == scored else f"{sure} of the {scored}"
    return f"{sentence}. {some} names that rest on a score are above the random twin beyond their error"


def above_twin(results: xr.DataTree, name: str) -> Bool[np.ndarray, " head"]:
    """Heads whose score exceeds the twin's highest by its margin, at 95 % for all heads at once."""
    one = per_head(results, f"taxonomy/{name}")
    return one.value - one.margin(one.value.size) > float(numbers(results, f"taxonomy/{name}_null"))


def scores(results: xr.DataTree) -> go.Figure:
    """Every score of every head, with the twin's highest as null and the threshold of the name."""
    kind, figure = kinds_of(results).ravel(), panels(height=480)
    shown = [name for name in SCORES if has(results, f"taxonomy/{name}")]
    beside = np.linspace(-0.36, 0.36, kind.size)
    for place, name in enumerate(shown):
        one, heads = per_head(results, f"taxonomy/{name}"), labels(results, f"taxonomy/{name}")
        for mine, text, colour in ((False, "other heads", PALETTE[5]), (True, "heads named by this score", PALETTE[1])):
            trace = dots(one, place + beside, heads, np.flatnonzero((kind == name) == mine), colour)
            figure.add_trace(trace.update(name=text, legendgroup=text))
        draw_levels(figure, place, results, name)
        draw_best(figure, place + beside, one.value, heads, kind == name)
    shown_once = {trace.name: trace for trace in reversed(figure.data) if trace.name and len(trace.x)}
    for trace in shown_once.values():
        trace.showlegend = True
    words = [f"<br>{name}" if place % 2 else name for place, name in enumerate(shown)]  # beside each other on a phone
    ticks = {"tickmode": "array", "tickvals": list(range(len(shown))), "ticktext": words, "zeroline": False}
    figure.update_xaxes(range=[-0.5, len(shown) - 0.5], showgrid=False, tickangle=0, **ticks)
    figure.update_layout(legend={"y": -0.24})
    return axes(figure, "score", "share of attention", range=[-0.03, 1.09])


def draw_levels(figure: go.Figure, place: int, results: xr.DataTree, name: str) -> None:
    """The highest score of the random twin, and what a name needs beyond it."""
    null = optional(results, f"taxonomy/{name}_null")
    if null is None or not np.isfinite(null):
        return
    needed = float(null) + SCORES[name] * (1 - float(null))
    for level, text, dash in ((float(null), "null: highest of the random twin", "dash"), (needed, "name from", "dot")):
        line = go.Scatter(x=[place - 0.42, place + 0.42], y=[level] * 2, mode="lines", name=text, legendgroup=text)
        line.update(line={"color": NULL, "dash": dash, "width": 1.5}, hovertemplate="%{y:.3g}", showlegend=False)
        figure.add_trace(line)


def draw_best(
    figure: go.Figure,
    across: Float[np.ndarray, " dot"],
    values: Float[np.ndarray, " dot"],
    heads: list[str],
    named: Bool[np.ndarray, " dot"],
) -> None:
    """The label of the highest head that bears the name, above its dot."""
    if not (named & np.isfinite(values)).any():
        return
    best = int(np.where(named & np.isfinite(values), values, -np.inf).argmax())
    text = go.Scatter(x=across[[best]], y=values[[best]], mode="text", text=[heads[best]], textposition="top center")
    figure.add_trace(text.update(textfont={"size": 11}, showlegend=False, hoverinfo="skip"))


def scores_finding(results: xr.DataTree) -> str:
    """The highest of each score among the heads that it names, with its margin, and what the twin reaches."""
    kind, told = kinds_of(results).ravel(), []
    known = [name for name in SCORES if has(results, f"taxonomy/{name}")]
    for name in known:
        one, heads = per_head(results, f"taxonomy/{name}"), labels(results, f"taxonomy/{name}")
        mine = (kind == name) & np.isfinite(one.value)
        if mine.any():
            best = int(np.where(mine, one.value, -np.inf).argmax())
            margin = float(one.margin(one.value.size)[best])
            null = optional(results, f"taxonomy/{name}_null")
            twin = "" if null is None else f" (twin {number(float(null))})"
            told.append(f"{name} {quoted(float(one.value[best]), margin)} in {heads[best]}{twin}")
    if not any(np.isfinite(numbers(results, f"taxonomy/{name}")).any() for name in known):
        return "The scores of heads are not determined"
    if not told:
        return "No head's score is clearly above that of the random twin"
    return f"The highest scores, against the highest of the random twin: {'; '.join(told)}"


def sides_of(results: xr.DataTree) -> tuple[list[str], list[str]]:
    """The parts of the query and those of the key, by name."""
    share = array(results, "constituents/share")
    query, key = (
        [str(name) for name in (share.coords[axis].values if axis in share.coords else range(share.sizes[axis]))]
        for axis in ("part_query", "part_key")
    )
    return query, key


def parts_of(results: xr.DataTree) -> list[str]:
    """The nine pairs of parts by name, the query's part first."""
    queries, keys = sides_of(results)
    return [f"{query} · {key}" for query in queries for key in keys]


def constituents(results: xr.DataTree) -> go.Figure:
    """The share of each pair of parts in every head's logits: a row per part of the query, a column per key's."""
    share = array(results, "constituents/share")
    blocks, heads, rows, columns = share.shape
    pairs, height = parts_of(results), 120 + rows * (20 + int(np.clip(9 * blocks, 90, 240)))
    queries, keys = sides_of(results)
    figure = panels(rows, columns, tuple(f"key: {key}" for key in keys), height, one_scale=True, gap=40)
    reach = float(np.nanmax(np.abs(share.values), initial=0.0)) or 1.0
    for place, pair in enumerate(pairs):
        part = {"part_query": place // columns, "part_key": place % columns}
        values: PerHead = numbers(results, "constituents/share", **part)
        trace = head_field(values, margins(results, "constituents/share", **part), "share", (-reach, reach))
        trace.update(name=literal(pair), showscale=place == 0, colorbar=ruler("share of the variance", height, TITLES))
        figure.add_trace(trace, place // columns + 1, place % columns + 1)
    figure.update_annotations(font={"size": 12})
    head_axes(axes(figure, "head", "block"), blocks, heads)
    for row, query in enumerate(queries, 1):
        figure.update_yaxes(title_text=literal(f"query: {query}, block"), row=row, col=1)
    return figure.update_layout(margin={"t": BAR + 30}, height=height + BAR)


def constituents_finding(results: xr.DataTree) -> str:
    """Which pair of parts has the largest share in most heads, how often beyond doubt, and the largest of all."""
    share = numbers(results, "constituents/share")
    flat = share.reshape(-1, share.shape[2] * share.shape[3])
    known = np.isfinite(flat).all(1)
    if not known.any():
        return "Which parts move the logits is not determined"
    se = optional(results, "constituents/share_se")
    width = half_width(draws(results, "constituents/share"), 1 - (1 - LEVEL) / flat.size)
    margin = np.full_like(flat, np.nan) if se is None else width * se.reshape(flat.shape)
    pairs, leading = parts_of(results), np.where(known[:, None], flat, -np.inf).argmax(1)
    common = int(np.bincount(leading[known]).argmax())
    mine = known & (leading == common)
    told = f"{pairs[common]} (query · key) has the largest share of the logits' variance in {mine.sum()} of {len(flat)}"
    clear = beyond_doubt(flat, margin) & mine
    told += f" heads, told from all others in {clear.sum()}" if np.isfinite(margin).any() else " heads"
    best = int(np.where(known, flat.max(1), -np.inf).argmax())
    value = quoted(float(flat[best, leading[best]]), float(margin[best, leading[best]]), "%")
    where = labels(results, "constituents/share")[best]
    return f"{told}; the largest share is {value}, of {pairs[leading[best]]} in {where}"


def beyond_doubt(
    share: Float[np.ndarray, "head pair"], margin: Float[np.ndarray, "head pair"]
) -> Bool[np.ndarray, " head"]:
    """Heads whose largest share exceeds every other by both margins, which may depend on each other."""
    rows, best = np.arange(len(share)), np.nan_to_num(share, nan=-np.inf).argmax(1)
    reach = share + margin
    reach[rows, best] = -np.inf
    return share[rows, best] - margin[rows, best] > reach.max(1)


FIGURES = (
    Figure(
        "head-names",
        "heads",
        ("taxonomy/kind",),
        names_finding,
        names,
        "Heads by what they do. On random tokens that come twice: induction looks at the token after the first "
        "occurrence, duplicate at the first occurrence, previous at the token before. On text: sink looks at the "
        "first token, local stays within 4 tokens, uniform spreads over all. Thresholds are a choice.",
        "a name needs a score above null + share · (1 − null), null the highest score of any head of the random twin; "
        "share 0.2 for induction, duplicate and previous, 0.5 for sink and local; uniform: entropy 0.9 of its maximum",
        "docs/measures.md; induction heads: Olsson et al. (2022)",
    ),
    Figure(
        "head-scores",
        "heads",
        ("taxonomy/kind", *(f"taxonomy/{name}" for name in SCORES)),
        scores_finding,
        scores,
        "The scores that decide the names, a dot per head. Dashed: the highest score that any head of the same model "
        "with random weights reaches; dotted: from where a head gets the name. A head has one name at most, so a high "
        "score may belong to a head with another. Bars: 95 % for each head by itself.",
        "mass of attention on the key that the score asks for, mean over queries and windows",
        "docs/measures.md; induction heads: Olsson et al. (2022)",
    ),
    Figure(
        "head-constituents",
        "heads",
        ("constituents/share",),
        constituents_finding,
        constituents,
        "Which parts of the attention's input move each head's logits: the mean of all states (global), the position "
        "vector, and the rest, as query and as key. The nine shares of a head add up to 1; a negative one works "
        "against the others. Without rotary positions a global key moves nothing. All panels share one scale.",
        "Cov(q_a k_bᵀ, q kᵀ) / Var(q kᵀ), over the keys of a query, added up over queries; error over documents",
        "Song & Zhong (2023), section 5; docs/measures.md",
    ),
)

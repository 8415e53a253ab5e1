"""Figures of kinds of heads: which they are, by which scores, and which QK terms move their logits."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Bool, Float, Shaped

from armillary.figures.kit.colours import HEADS, NULL, THRESHOLD, transparent
from armillary.figures.kit.each_head import (
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
from armillary.figures.kit.style import axes, literal, panels
from armillary.figures.kit.units import axis_label, drawn, in_unit, scale_of
from armillary.figures.kit.words import NOT_ESTIMABLE, error_words, largest, number, quoted
from armillary.measures.errors.jackknife import half_width
from armillary.measures.taxonomy import GENERAL, SPECIAL
from armillary.results.kinds import UNIFORM, UNNAMED, Kinds, all_kinds, counted_kinds, has_kind, kinds_of
from armillary.results.reading import LEVEL, Estimate, array, draws, has, numbers, optional
from armillary.results.schema.naming import KINDS, REPEATED

SCORES = SPECIAL | GENERAL
"""Every score, and the share of what is beyond the control's reach that a kind needs."""

TERM_HEIGHTS = 160, 240
"""Pixels of a panel of QK terms: the words beside it need the least, however few the blocks."""


def every_kind(results: xr.DataTree) -> Kinds:
    """All kinds that each head is in the field's words, the one that names it first; empty where there is none."""
    return np.array(
        [[", ".join(KINDS[kind] for kind in each) for each in row] for row in all_kinds(results)], dtype=str
    )


def names(results: xr.DataTree) -> go.Figure:
    """Every head as a square, by block and number, coloured by its kind."""
    kind = kinds_of(results)
    blocks, heads = kind.shape
    figure = panels(height=field_height(blocks) + 40)
    words = scores_in_words(results)
    size = float(np.clip(min(300 / max(heads, 1), 330 / max(blocks, 1)), 4, 18))  # no square lies on another
    for stored, name in (KINDS | {"": UNNAMED}).items():
        block, head = np.nonzero(kind == stored)
        trace = go.Scatter(x=head, y=block, mode="markers", name=name)
        symbol = "square" if stored else "square-open"
        marker = {"symbol": symbol, "size": size, "color": HEADS.get(stored, NULL)}
        trace.update(marker=marker, customdata=[[words[int(b), int(h)]] for b, h in zip(block, head, strict=True)])
        trace.update(hovertemplate=f"L%{{y}}H%{{x}}: {name}<br>%{{customdata[0]}}<extra></extra>")
        if block.size:
            figure.add_trace(trace)
    figure.update_layout(showlegend=True, legend={"itemsizing": "constant"})
    return head_axes(axes(figure, "head", "block"), blocks, heads)


def scores_in_words(results: xr.DataTree) -> dict[tuple[int, int], str]:
    """All scores of each head, for whoever points at it and for the file of numbers."""
    scores = {KINDS[name]: numbers(results, f"taxonomy/{name}") for name in SCORES if has(results, f"taxonomy/{name}")}
    return {
        place: ", ".join(f"{name} {number(100 * float(values[place]))} %" for name, values in scores.items())
        for place in np.ndindex(kinds_of(results).shape)
    }


def names_finding(results: xr.DataTree) -> str:
    """How many heads have a kind."""
    kind = kinds_of(results)
    some = int(has_kind(kind).sum())
    if not some:
        return f"None of {kind.size} heads has a kind: no score clearly exceeds the random-weight control"
    return f"{some} of {kind.size} heads {'has' if some == 1 else 'have'} a kind"


def names_detail(results: xr.DataTree) -> str:
    """How many heads are of which kind, and how many of their scores are significantly above the control's."""
    kind = kinds_of(results)
    scored, even = int(has_kind(kind).sum()), int((kind == UNIFORM).sum())
    without = f"{kind.size - scored} have no kind" + (f", {even} of them uniform" if even else "")
    if not scored:
        return f"{without[0].upper()}{without[1:]}" if even else ""
    finding = f"{counted_kinds(kind)}; {without}"
    if any(not has(results, f"taxonomy/{name}_null") for name in SCORES):
        return finding
    sure = sum(int((above_control(results, name) & (kind.ravel() == name)).sum()) for name in SCORES)
    some = f"All {scored}" if sure == scored else f"{sure} of {scored}"
    return f"{finding}. {some} scores are significantly above the random-weight control"


def above_control(results: xr.DataTree, name: str) -> Bool[np.ndarray, " head"]:
    """Heads whose score is significantly above the control's highest, at 95 % for all heads jointly."""
    score = per_head(results, f"taxonomy/{name}")
    return score.value - score.margin(score.value.size) > float(numbers(results, f"taxonomy/{name}_null"))


def scores(results: xr.DataTree) -> go.Figure:
    """Every score of every head, with the control's highest as null and the threshold of the kind."""
    kind, figure = kinds_of(results).ravel(), panels(height=500)
    shown = [name for name in SCORES if has(results, f"taxonomy/{name}")]
    beside = np.linspace(-0.36, 0.36, kind.size)
    for place, name in enumerate(shown):
        path = f"taxonomy/{name}"
        score, heads = in_unit(path, per_head(results, path)), labels(results, path)
        for mine, text, colour in ((False, "other heads", transparent(NULL, 0.7)), (True, KINDS[name], HEADS[name])):
            trace = dots(score, place + beside, heads, np.flatnonzero((kind == name) == mine), colour)
            figure.add_trace(trace.update(name=text, legendgroup=text))
        draw_levels(figure, place, results, name)
        draw_best(figure, place + beside, score.value, heads, kind == name)
    kinds = set(KINDS.values())  # the axis names these
    first = {trace.name: trace for trace in reversed(figure.data) if trace.name and len(trace.x)}
    for name, trace in first.items():
        trace.showlegend = name not in kinds
    words = [KINDS[name].replace("-", "-<br>").replace(" ", "<br>") for name in shown]  # beside each other on a phone
    ticks = {"tickmode": "array", "tickvals": list(range(len(shown))), "ticktext": words, "zeroline": False}
    figure.update_xaxes(range=[-0.5, len(shown) - 0.5], showgrid=False, tickangle=0, **ticks)
    figure.update_layout(legend={"y": -0.36, "traceorder": "normal"})
    return axes(figure, "score", "share of attention, %", range=[-3, 109])


def draw_levels(figure: go.Figure, place: int, results: xr.DataTree, name: str) -> None:
    """The highest score of the random-weight control, and what a kind needs beyond it."""
    null = optional(results, f"taxonomy/{name}_null")
    if null is None or not np.isfinite(null):
        return
    scale, needed = scale_of(f"taxonomy/{name}"), float(null) + SCORES[name] * (1 - float(null))
    for level, text, colour, dash in (
        (float(null), "null: highest of the random-weight control", NULL, "dash"),
        (needed, "threshold of the kind", THRESHOLD, "dot"),
    ):
        line = go.Scatter(x=[place - 0.42, place + 0.42], y=[scale * level] * 2, mode="lines", name=text)
        line.update(line={"color": colour, "dash": dash, "width": 2}, hovertemplate="%{y:.3g}", legendgroup=text)
        figure.add_trace(line.update(showlegend=False, legendrank=2000))


def draw_best(
    figure: go.Figure,
    across: Float[np.ndarray, " dot"],
    values: Float[np.ndarray, " dot"],
    heads: list[str],
    named: Bool[np.ndarray, " dot"],
) -> None:
    """The label of the highest head of the kind, above its dot."""
    if not (named & np.isfinite(values)).any():
        return
    best = int(np.where(named & np.isfinite(values), values, -np.inf).argmax())
    text = go.Scatter(x=across[[best]], y=values[[best]], mode="text", text=[heads[best]], textposition="top center")
    figure.add_trace(text.update(textfont={"size": 11}, showlegend=False, hoverinfo="skip"))


def scores_finding(results: xr.DataTree) -> str:
    """The clearest head of the first kind that there is."""
    kind = kinds_of(results).ravel()
    known = [name for name in SCORES if has(results, f"taxonomy/{name}")]
    if not any(np.isfinite(numbers(results, f"taxonomy/{name}")).any() for name in known):
        return f"The scores of heads are {NOT_ESTIMABLE}"
    for name in known:
        score, heads = per_head(results, f"taxonomy/{name}"), labels(results, f"taxonomy/{name}")
        mine = (kind == name) & np.isfinite(score.value)
        if mine.any():
            best = int(np.where(mine, score.value, -np.inf).argmax())
            value = quoted(float(score.value[best]), float(score.margin(score.value.size)[best]), "%")
            return f"The clearest {head_of(name)} is {heads[best]}, with a score of {value}"
    return "No head's score clearly exceeds the random-weight control"


def head_of(name: str) -> str:
    """A head of a kind in words: induction head, attention sink."""
    return KINDS[name] if KINDS[name].endswith("sink") else f"{KINDS[name]} head"


def scores_detail(results: xr.DataTree) -> str:
    """The clearest head of each kind, with its margin and the control's highest; higher scores of other kinds too."""
    kind, best_of = kinds_of(results).ravel(), []
    known = [name for name in SCORES if has(results, f"taxonomy/{name}")]
    for name in known:
        score, heads = per_head(results, f"taxonomy/{name}"), labels(results, f"taxonomy/{name}")
        mine = (kind == name) & np.isfinite(score.value)
        if mine.any():
            best = int(np.where(mine, score.value, -np.inf).argmax())
            value = quoted(float(score.value[best]), float(score.margin(score.value.size)[best]), "%")
            null = optional(results, f"taxonomy/{name}_null")
            control = "" if null is None else f", null {number(100 * float(null))} %"
            best_of.append(f"{KINDS[name]} {value} ({heads[best]}{control}){higher(score, heads, mine, kind)}")
    return f"Clearest head of each kind: {'; '.join(best_of)}" if best_of else ""


def higher(
    score: Estimate, heads: list[str], mine: Bool[np.ndarray, " head"], kind: Shaped[np.ndarray, " head"]
) -> str:
    """A head of another kind with a higher score than any of this one, named beside it."""
    top = largest(score.value)
    if mine[top] or not kind[top]:
        return ""
    return f", where {heads[top]} ({head_of(kind[top])}) has {number(100 * float(score.value[top]))} %"


def sides_of(results: xr.DataTree) -> tuple[list[str], list[str]]:
    """The parts of the query and those of the key, by name."""
    share = array(results, "constituents/share")
    query, key = (
        [str(name) for name in (share.coords[axis].values if axis in share.coords else range(share.sizes[axis]))]
        for axis in ("part_query", "part_key")
    )
    return query, key


def parts_of(results: xr.DataTree) -> list[str]:
    """The nine QK terms by name, query → key."""
    queries, keys = sides_of(results)
    return [f"{query} → {key}" for query in queries for key in keys]


def constituents(results: xr.DataTree) -> go.Figure:
    """The share of each pair of parts in every head's logits: a row per part of the query, a column per key's."""
    share = drawn(results, "constituents/share")
    blocks, heads, rows, columns = share.shape
    pairs, height = parts_of(results), 120 + rows * (20 + int(np.clip(9 * blocks, *TERM_HEIGHTS)))
    queries, keys = sides_of(results)
    figure = panels(rows, columns, tuple(f"key: {key}" for key in keys), height, one_scale=True, gap=40)
    reach, bar = float(np.nanmax(np.abs(share), initial=0.0)) or 1.0, axis_label("constituents/share")
    for place, pair in enumerate(pairs):
        part = {"part_query": place // columns, "part_key": place % columns}
        margin = scale_of("constituents/share") * margins(results, "constituents/share", **part)
        trace = head_field(drawn(results, "constituents/share", **part), margin, bar, (-reach, reach))
        trace.update(name=literal(pair), showscale=place == 0, colorbar=ruler(bar, height, TITLES))
        figure.add_trace(trace, place // columns + 1, place % columns + 1)
    figure.update_annotations(font={"size": 12})
    head_axes(axes(figure, "head", "block"), blocks, heads)
    for row, query in enumerate(queries, 1):
        figure.update_yaxes(title_text=literal(f"query: {query}, block"), row=row, col=1)
    return figure.update_layout(margin={"t": BAR + 30}, height=height + BAR)


def constituents_finding(results: xr.DataTree) -> str:
    """The dominant QK term of most heads."""
    share = numbers(results, "constituents/share")
    flat = share.reshape(-1, share.shape[2] * share.shape[3])
    known = np.isfinite(flat).all(1)
    if not known.any():
        return f"The dominant QK term of heads is {NOT_ESTIMABLE}"
    pairs, leading = parts_of(results), np.where(known[:, None], flat, -np.inf).argmax(1)
    common = int(np.bincount(leading[known]).argmax())
    mine = known & (leading == common)
    term = pairs[common].replace(" → ", "\u00a0→\u00a0")
    return f"{term[0].upper()}{term[1:]} is the dominant QK term of {mine.sum()} of {len(flat)} heads"


def constituents_detail(results: xr.DataTree) -> str:
    """In how many heads that term dominates significantly, and the largest share of all."""
    share = numbers(results, "constituents/share")
    flat = share.reshape(-1, share.shape[2] * share.shape[3])
    known = np.isfinite(flat).all(1)
    if not known.any():
        return ""
    se = optional(results, "constituents/share_se")
    width = half_width(draws(results, "constituents/share"), 1 - (1 - LEVEL) / flat.size)
    margin = np.full_like(flat, np.nan) if se is None else width * se.reshape(flat.shape)
    pairs, leading = parts_of(results), np.where(known[:, None], flat, -np.inf).argmax(1)
    common = int(np.bincount(leading[known]).argmax())
    mine = known & (leading == common)
    finding = f"{pairs[common].capitalize()} dominates {mine.sum()} heads"
    clear = beyond_doubt(flat, margin) & mine
    finding += f", significantly in {clear.sum()}" if np.isfinite(margin).any() else ""
    best = int(np.where(known, flat.max(1), -np.inf).argmax())
    value = quoted(float(flat[best, leading[best]]), float(margin[best, leading[best]]), "%")
    where = labels(results, "constituents/share")[best]
    return f"{finding}; largest share {value}, {pairs[leading[best]]} in {where}"


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
        "Heads by what they attend to. On repeated random tokens: induction heads attend to the token after the first "
        "occurrence, duplicate-token heads to the first occurrence, previous-token heads to the previous token. On "
        "text: attention sinks attend to the first token, local heads within 4 tokens, uniform heads to all. A head of "
        "several kinds is coloured by its first. Thresholds are a choice.",
        "a kind needs a score above null + share · (1 − null), null the highest score of any head of the random-weight "
        "control; share 0.2 for induction, duplicate-token and previous-token, 0.5 for attention sink and local; "
        "uniform: entropy 0.9 of its maximum",
        "docs/measures.md; induction heads: Olsson et al. (2022)",
        names_detail,
    ),
    Figure(
        "head-scores",
        "heads",
        ("taxonomy/kind", *(f"taxonomy/{name}" for name in SCORES)),
        scores_finding,
        scores,
        "The scores that decide the kinds, a dot per head. Dashed: the highest score of any head of the random-weight "
        "control; dotted: the threshold of the kind. A head can have several kinds and is coloured by the first "
        "alone: the highest of the first three scores that pass, else of the last two. A grey dot above a threshold "
        "has another first kind. "
        f"Bars, for each head by itself: {error_words('taxonomy/' + REPEATED[0])} (first three scores), "
        f"{error_words('taxonomy/sink')} (the others).",
        "mass of attention on the key that the score asks for, mean over queries and windows",
        "docs/measures.md; induction heads: Olsson et al. (2022)",
        scores_detail,
    ),
    Figure(
        "head-constituents",
        "heads",
        ("constituents/share",),
        constituents_finding,
        constituents,
        "Which parts of the attention's input move each head's logits: mean, position and residual, as query and as "
        "key. The nine shares of a head add up to 100 %; a negative one works against the others. Without rotary "
        "positions a mean key moves nothing. All panels share one scale. ± where you point: "
        f"{error_words('constituents/share')}, for that head by itself.",
        "Cov(q_a k_bᵀ, q kᵀ) / Var(q kᵀ), over the keys of a query, added up over queries",
        "Song & Zhong (2023), section 5; docs/measures.md",
        constituents_detail,
    ),
)

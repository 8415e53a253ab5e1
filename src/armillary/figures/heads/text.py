"""Figures of attention heads on text: where they attend, how far, and what passes through them."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Bool, Int

from armillary.figures.kit.colours import NULL, series
from armillary.figures.kit.curves import draw_estimate, draw_line
from armillary.figures.kit.each_head import (
    dots_by_block,
    field_height,
    head_axes,
    head_field,
    labels,
    least_and_most,
    margins,
    per_head,
    starts_of,
)
from armillary.figures.kit.fields import BAR, ruler, slider
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import axis_label, drawn, scale_of
from armillary.figures.kit.words import NO_NULL, NOT_ESTIMABLE, at, error_words, largest, number
from armillary.results.reading import Estimate, array, draws, has, label_of, numbers, optional

GRID = tuple(f"heads/{name}" for name in ("entropy_relative", "mass_first", "mass_previous", "mass_self", "distance"))
"""What the grid shows, in the order of its slider."""

MOST = 0.5
"""A head that gives more than this to the first token attends to it above all."""

EACH_END = 3
"""How many of the most and of the least local heads are drawn; with the mean of all heads that makes seven curves."""


def grid(results: xr.DataTree) -> go.Figure:
    """Every head as a cell, by block and head; the slider chooses the measure."""
    shown = [path for path in GRID if has(results, path)]
    blocks, heads = array(results, shown[0]).shape
    steps = []
    for path in shown:
        values, bar = drawn(results, path), axis_label(path)
        top = 100.0 if path == GRID[0] else float(np.nanmax(values, initial=0.0)) or 1.0
        trace = head_field(values, scale_of(path) * margins(results, path), bar, (0.0, top), signed=False)
        steps.append([trace.update(name=bar, colorbar=ruler(bar, field_height(blocks)))])
    figure = panels(height=field_height(blocks) + BAR)
    figure.update_layout(margin={"t": BAR})
    head_axes(axes(figure, "head", "block"), blocks, heads)
    words, titles = (
        [label_of(path).removeprefix("attention on the ") for path in shown],
        [grid_title(results, path) for path in shown],
    )
    slider(figure, steps, words, 0, titles)
    control = {"currentvalue": {"visible": False, "prefix": ""}, "x": 0.06, "len": 0.88}  # labels at the ends
    figure.layout.sliders[0].update(**control)
    return figure


def grid_title(results: xr.DataTree, path: str) -> str:
    """The head for which one of the grid's measures is highest."""
    one, names = per_head(results, path), labels(results, path)
    what = label_of(path)
    if not np.isfinite(one.value).any():
        return f"The {what} of heads is {NOT_ESTIMABLE}"
    best = largest(one.value)
    return f"{what[0].upper()}{what[1:]} is highest in {names[best]}: {at(one, best, grid_unit(path))}"


def grid_unit(path: str) -> str:
    """The unit in which a measure of the grid is quoted."""
    return "%" if scale_of(path) == 100 else "tokens"


def grid_finding(results: xr.DataTree) -> str:
    """The title of the measure with which the slider begins."""
    return grid_title(results, GRID[0])


def grid_detail(results: xr.DataTree) -> str:
    """The lowest and the highest head by every measure but the distance, which has a figure of its own."""
    parts = []
    for path in (path for path in GRID[:4] if has(results, path)):
        one = per_head(results, path)
        if np.isfinite(one.value).any():
            parts.append(f"{label_of(path)} {' to '.join(least_and_most(one, labels(results, path), '%'))}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}"


def span_names(starts: Int[np.ndarray, " span"]) -> list[str]:
    """Bins of distance by what they hold: 3–4, 5–8, 33+."""
    ends = [*(starts[1:] - 1), None]
    return [
        f"{start}+" if end is None else str(start) if start == end else f"{start}–{end}"
        for start, end in zip(starts, ends, strict=True)
    ]


def bin_curve(results: xr.DataTree, path: str, head: int) -> Estimate:
    """One head's values along the bins, with their errors."""
    bins = array(results, path).shape[-1]
    value, se = numbers(results, path).reshape(-1, bins)[head], optional(results, f"{path}_se")
    unknown = np.full_like(value, np.nan)
    known = unknown if se is None else se.reshape(-1, bins)[head]
    return Estimate("bin", value, known, unknown, unknown, draws(results, path))


def bin_ticks(figure: go.Figure, names: list[str], row: int = 1) -> None:
    """Name the bins along the axis, about eight of them where there are more."""
    some = list(range(0, len(names), -(-len(names) // 8)))
    ticks = {
        "tickmode": "array",
        "tickvals": some,
        "ticktext": [names[place] for place in some],
        "categoryarray": names,
        "dtick": None,
    }
    figure.update_xaxes(range=[-0.3, len(names) - 0.7], **ticks, row=row, col=1)


def sinks(results: xr.DataTree) -> Bool[np.ndarray, " head"]:
    """Heads that give most of their attention to the first token: their mean distance is the mean query position."""
    first = optional(results, "heads/mass_first")
    heads = per_head(results, "heads/distance").value.size
    return np.zeros(heads, dtype=bool) if first is None else np.nan_to_num(first.ravel()) > MOST


def by_locality(results: xr.DataTree) -> list[int]:
    """The heads that are drawn: the most and the least local ones, most local first, attention sinks left out."""
    distance = np.where(sinks(results), np.nan, per_head(results, "heads/distance").value)
    order = [int(head) for head in np.argsort(distance, kind="stable") if np.isfinite(distance[head])]
    return order if len(order) <= 2 * EACH_END else order[:EACH_END] + order[-EACH_END:]


def distances(results: xr.DataTree) -> go.Figure:
    """Attention by distance, for the most and the least local heads, beside the mean of all."""
    path, figure = "heads/distance_profile", panels(height=430)
    names = labels(results, path)
    shown = by_locality(results)
    for colour, head in zip(series(len(shown)), shown, strict=True):
        draw_estimate(figure, bin_curve(results, path, head).percent(), names[head], colour)
    draw_line(figure, drawn(results, path).mean((0, 1)), "mean of all heads", NULL, "dash")
    bin_ticks(figure, span_names(starts_of(results, path, "span")))
    return axes(figure, "distance, tokens", "attention, %", rangemode="tozero")


def distances_finding(results: xr.DataTree) -> str:
    """How near the most local head attends on average."""
    distance, shown = per_head(results, "heads/distance"), by_locality(results)
    if not np.isfinite(distance.value).any():
        return f"The mean distance of heads is {NOT_ESTIMABLE}"
    if not shown:
        return "Every head is an attention sink: no mean distance says more"
    nearest = f"{at(distance, shown[0])} tokens ({labels(results, 'heads/distance')[shown[0]]})"
    return f"The most local head attends over a mean distance of {nearest}"


def distances_detail(results: xr.DataTree) -> str:
    """The head that reaches farthest, and how many attention sinks are left out."""
    distance, shown, names = (
        per_head(results, "heads/distance"),
        by_locality(results),
        labels(results, "heads/distance"),
    )
    if not shown:
        return ""
    count = int(sinks(results).sum())
    heads = (
        "1 head with most attention on the first token is"
        if count == 1
        else (f"{count} heads with most attention on the first token are")
    )
    words = f"{heads} left out: theirs is the mean query position"
    far = f"The farthest reach {at(distance, shown[-1])} tokens ({names[shown[-1]]})"
    return f"{far}; {words}" if count else far


def signal(results: xr.DataTree) -> go.Figure:
    """Signal propagation of every head over the blocks; below, by key, for the lowest, the middle and the highest."""
    path, profile = "heads/signal_propagation", "heads/signal_propagation_profile"
    if not has(results, profile):
        return axes(dots_by_block(results, {"": path}, 400), "block", "signal propagation", range=[-0.03, 1.03])
    figure = dots_by_block(results, {"every head": path, "by key": path}, 640)
    figure.data = figure.data[:1]
    names, order = labels(results, path), np.argsort(per_head(results, path).value, kind="stable")
    shown = dict.fromkeys(int(order[at]) for at in (0, len(order) // 2, -1))
    for colour, head in zip(series(len(shown)), shown, strict=True):
        draw_estimate(figure, bin_curve(results, profile, head), names[head], colour, 2)
    axes(figure, "key, first position of its bin", "signal propagation", range=[-0.03, 1.03])
    bin_ticks(figure, [str(start) for start in starts_of(results, profile, "key_bin")], 2)
    return figure.update_xaxes(title_text="block", row=1, col=1)


def signal_finding(results: xr.DataTree) -> str:
    """The lowest head: the one that selects most; there is no null for it."""
    signal = per_head(results, "heads/signal_propagation")
    if not np.isfinite(signal.value).any():
        return f"Signal propagation is {NOT_ESTIMABLE}"
    least, _ = least_and_most(signal, labels(results, "heads/signal_propagation"))
    return f"Signal propagation of heads is at least {least}"


def signal_detail(results: xr.DataTree) -> str:
    """The lowest, the median and the highest head."""
    signal = per_head(results, "heads/signal_propagation")
    if not np.isfinite(signal.value).any():
        return ""
    least, most = least_and_most(signal, labels(results, "heads/signal_propagation"))
    return f"{least} to {most}, median {number(float(np.nanmedian(signal.value)))}; {NO_NULL}"


def ranks(results: xr.DataTree) -> go.Figure:
    """Effective and stable rank of every head's maps over the blocks."""
    paths = {"effective rank": "heads/rank_effective", "stable rank": "heads/rank_stable"}
    return axes(dots_by_block(results, paths, 560), "block", "directions", rangemode="tozero")


def ranks_finding(results: xr.DataTree) -> str:
    """How many directions the maps of a head have at most."""
    path = "heads/rank_effective"
    rank = per_head(results, path)
    if not np.isfinite(rank.value).any():
        return f"The ranks of attention maps are {NOT_ESTIMABLE}"
    return f"Attention maps have an effective rank of up to {least_and_most(rank, labels(results, path))[1]}"


def ranks_detail(results: xr.DataTree) -> str:
    """From how few to how many directions the maps of a head have, by both ranks."""
    parts = []
    for path in ("heads/rank_effective", "heads/rank_stable"):
        rank = per_head(results, path)
        if np.isfinite(rank.value).any():
            parts.append(f"{label_of(path)} {' to '.join(least_and_most(rank, labels(results, path)))}")
    text = ", ".join(parts)
    return f"{text[:1].upper()}{text[1:]}"


FIGURES = (
    Figure(
        "head-grid",
        "heads",
        ("heads/entropy_relative",),
        grid_finding,
        grid,
        "Every head by block and number: L10H7 is head 7 of block 10. The slider chooses what the colour means: how "
        "spread attention is, how much of it goes to the first token, to the previous token, to the token itself, and "
        f"how far it reaches. ± where you point: {error_words(GRID[0])}, for that head by itself.",
        "entropy −Σ p log p over log t, t the keys that a query may see; masses Σ p on one key; distance "
        "Σ p |query − key|; means over queries and windows",
        "docs/measures.md",
        grid_detail,
    ),
    Figure(
        "head-distances",
        "heads",
        ("heads/distance_profile", "heads/distance"),
        distances_finding,
        distances,
        f"Attention by distance for the {EACH_END} heads of smallest and the {EACH_END} of largest mean distance, "
        "attention sinks left out. Bins double in width, so that a bin far away holds more keys. Band: "
        f"{error_words('heads/distance_profile')}.",
        "Σ p over keys at a distance |query − key| in the bin, mean over queries and windows",
        "docs/measures.md",
        distances_detail,
    ),
    Figure(
        "signal-propagation",
        "heads",
        ("heads/signal_propagation",),
        signal_finding,
        signal,
        "For the last query of each window: the share of keys whose score is near enough to the mean that a linearised "
        "softmax gives a probability between 0 and 1. 1: the softmax is nearly linear and lets every token pass; low: "
        f"it selects. Bars: {error_words('heads/signal_propagation')}, for each head by itself.",
        "share of windows and keys i with 0 ≤ 1/T + (ω_i − mean ω)/T ≤ 1, ω the scores of the last query, T its keys",
        "Bao, Hataya & Karakida (2024), Definition 1, measured on text",
        signal_detail,
    ),
    Figure(
        "head-ranks",
        "heads",
        ("heads/rank_effective", "heads/rank_stable"),
        ranks_finding,
        ranks,
        "In how many directions the attention maps of single windows spread: 1 if all queries attend in the same way. "
        f"From a sample of windows. Bars: {error_words('heads/rank_effective')}, for each head by itself.",
        "effective: exp of the entropy of σ / Σσ; stable: Σσ² / σ₁²; σ the singular values of a map's first 128 rows",
        "Roy & Vetterli (2007); docs/measures.md",
        ranks_detail,
    ),
)

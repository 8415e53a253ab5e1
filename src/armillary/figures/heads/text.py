"""Figures of attention heads on text: where they look, how far, and what passes through them."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Int

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
from armillary.figures.kit.style import NULL, PALETTE, axes, panels
from armillary.figures.kit.words import number
from armillary.results.reading import Estimate, array, draws, has, numbers, optional

MEASURES = {
    "entropy_relative": ("entropy", "entropy, share of its maximum"),
    "mass_first": ("first", "attention on the first token"),
    "mass_previous": ("before", "attention on the token before"),
    "mass_self": ("itself", "attention on the token itself"),
    "distance": ("distance", "mean distance, tokens"),
}
"""What the grid shows: the name on the slider, and the name on the colour bar."""

EACH_END = 3
"""So many of the most and of the least local heads are drawn; with the mean of all heads that makes seven curves."""


def grid(results: xr.DataTree) -> go.Figure:
    """Every head as a cell, by block and head; the slider chooses the measure."""
    shown = [name for name in MEASURES if has(results, f"heads/{name}")]
    blocks, heads = array(results, f"heads/{shown[0]}").shape
    steps = []
    for name in shown:
        values = numbers(results, f"heads/{name}")
        top = 1.0 if name == "entropy_relative" else float(np.nanmax(values, initial=0.0)) or 1.0
        trace = head_field(values, margins(results, f"heads/{name}"), MEASURES[name][1], (0.0, top), signed=False)
        steps.append([trace.update(name=MEASURES[name][1], colorbar=ruler(MEASURES[name][1], field_height(blocks)))])
    figure = panels(height=field_height(blocks) + BAR)
    figure.update_layout(margin={"t": BAR})
    head_axes(axes(figure, "head", "block"), blocks, heads)
    return first_shown(slider(figure, steps, [MEASURES[name][0] for name in shown]))


def first_shown(figure: go.Figure) -> go.Figure:
    """A slider of measures begins with the first; the colour bar says which measure it is."""
    for place, trace in enumerate(figure.data):
        trace.visible = place == 0
    figure.layout.sliders[0].update(active=0, currentvalue={"visible": False})
    return figure


def grid_finding(results: xr.DataTree) -> str:
    """The most and the least spread head, and the heads that look most at the first token and at the one before."""
    one, names = per_head(results, "heads/entropy_relative"), labels(results, "heads/entropy_relative")
    if not np.isfinite(one.value).any():
        return "How heads spread their attention is not determined"
    least, most = least_and_most(one, names, "%")
    told = f"The entropy of heads runs from {least} to {most} of its maximum"
    for name, where in (("mass_first", "the first token"), ("mass_previous", "the token before")):
        if has(results, f"heads/{name}"):
            told += f"; {where} gets at most {least_and_most(per_head(results, f'heads/{name}'), names, '%')[1]}"
    return told


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
    ticks = {"tickmode": "array", "tickvals": some, "ticktext": [names[place] for place in some], "dtick": None}
    figure.update_xaxes(range=[-0.3, len(names) - 0.7], **ticks, row=row, col=1)


def by_locality(results: xr.DataTree) -> list[int]:
    """The heads that are drawn: the nearest-looking and the farthest-looking ones, nearest first."""
    distance = per_head(results, "heads/distance").value
    order = [int(head) for head in np.argsort(distance, kind="stable") if np.isfinite(distance[head])]
    return order if len(order) <= 2 * EACH_END else order[:EACH_END] + order[-EACH_END:]


def distances(results: xr.DataTree) -> go.Figure:
    """Attention by distance, for the most and the least local heads, beside the mean of all."""
    path, figure = "heads/distance_profile", panels(height=430)
    names = labels(results, path)
    for colour, head in zip(PALETTE, by_locality(results), strict=False):
        draw_estimate(figure, bin_curve(results, path, head).percent(), names[head], colour)
    draw_line(figure, 100 * numbers(results, path).mean((0, 1)), "mean of all heads", NULL, "dash")
    bin_ticks(figure, span_names(starts_of(results, path, "span")))
    return axes(figure, "distance, tokens", "attention, %", rangemode="tozero")


def distances_finding(results: xr.DataTree) -> str:
    """From how near to how far heads look on average."""
    one = per_head(results, "heads/distance")
    if not np.isfinite(one.value).any():
        return "How far heads look is not determined"
    least, most = least_and_most(one, labels(results, "heads/distance"), "tokens")
    return f"The mean distance from query to key runs over the heads from {least} to {most}"


def signal(results: xr.DataTree) -> go.Figure:
    """Signal propagation of every head over the blocks; below, by key, for the lowest, the middle and the highest."""
    path, profile = "heads/signal_propagation", "heads/signal_propagation_profile"
    if not has(results, profile):
        return axes(dots_by_block(results, {"": path}, 400), "block", "signal propagation", range=[-0.03, 1.03])
    figure = dots_by_block(results, {"every head": path, "by key": path}, 640)
    figure.data = figure.data[:1]
    names, order = labels(results, path), np.argsort(per_head(results, path).value, kind="stable")
    for place, head in enumerate(dict.fromkeys(int(order[at]) for at in (0, len(order) // 2, -1))):
        draw_estimate(figure, bin_curve(results, profile, head), names[head], PALETTE[place + 1], 2)
    axes(figure, "key, first position of its bin", "signal propagation", range=[-0.03, 1.03])
    bin_ticks(figure, [str(start) for start in starts_of(results, profile, "key_bin")], 2)
    return figure.update_xaxes(title_text="block", row=1, col=1)


def signal_finding(results: xr.DataTree) -> str:
    """The lowest and the highest head; there is no null for it."""
    one = per_head(results, "heads/signal_propagation")
    if not np.isfinite(one.value).any():
        return "Signal propagation is not determined"
    least, most = least_and_most(one, labels(results, "heads/signal_propagation"))
    told = f"Signal propagation runs from {least} to {most}"
    middle = number(float(np.nanmedian(one.value)))
    return f"{told}, with {middle} in the middle head; what chance gives is not determined"


def ranks(results: xr.DataTree) -> go.Figure:
    """Effective and stable rank of every head's maps over the blocks."""
    paths = {"effective rank": "heads/rank_effective", "stable rank": "heads/rank_stable"}
    return axes(dots_by_block(results, paths, 560), "block", "directions", rangemode="tozero")


def ranks_finding(results: xr.DataTree) -> str:
    """From how few to how many directions the maps of a head have."""
    told = []
    for kind in ("effective", "stable"):
        one = per_head(results, f"heads/rank_{kind}")
        if not np.isfinite(one.value).any():
            return "The ranks of attention maps are not determined"
        least, most = least_and_most(one, labels(results, f"heads/rank_{kind}"))
        told.append(f"{kind} rank from {least} to {most}")
    return f"Over the heads, the maps of single windows have {told[0]}, {told[1]}"


FIGURES = (
    Figure(
        "head-grid",
        "heads",
        ("heads/entropy_relative",),
        grid_finding,
        grid,
        "Every head by block and number, as L10H7 is head 7 of block 10. The slider chooses what the colour means: how "
        "spread attention is, how much of it goes to the first token, to the token before, to the token itself, and "
        "how far it reaches. ± where you point: 95 % for that head by itself.",
        "entropy −Σ p log p over log t, t the keys that a query may see; masses Σ p on one key; distance "
        "Σ p |query − key|; means over queries and windows",
        "docs/measures.md",
    ),
    Figure(
        "head-distances",
        "heads",
        ("heads/distance_profile", "heads/distance"),
        distances_finding,
        distances,
        f"Attention by distance for the {EACH_END} heads that look nearest and the {EACH_END} that look farthest on "
        "average. Bins double in width, so that a bin far away holds more keys.",
        "Σ p over keys at a distance |query − key| in the bin, mean over queries and windows",
        "docs/measures.md",
    ),
    Figure(
        "signal-propagation",
        "heads",
        ("heads/signal_propagation",),
        signal_finding,
        signal,
        "For the last query of each window: the share of keys whose score is so near to the mean that a softmax "
        "taken as linear gives a probability between 0 and 1. 1: the softmax is nearly linear and lets every token "
        "pass; low: it selects. Bars: 95 % for each head by itself.",
        "share of windows and keys i with 0 ≤ 1/T + (ω_i − mean ω)/T ≤ 1, ω the scores of the last query, T its keys",
        "Bao, Hataya & Karakida (2024), Definition 1, measured on text",
    ),
    Figure(
        "head-ranks",
        "heads",
        ("heads/rank_effective", "heads/rank_stable"),
        ranks_finding,
        ranks,
        "In how many directions the attention maps of single windows spread: 1 if all queries look alike. From a "
        "sample of windows; bars: 95 % for each head by itself.",
        "effective: exp of the entropy of σ / Σσ; stable: Σσ² / σ₁²; σ the singular values of a map's first 128 rows",
        "Roy & Vetterli (2007); docs/measures.md",
    ),
)

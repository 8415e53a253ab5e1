"""Figures of mean attention maps: the heads that differ most, side by side."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float

from armillary.figures.kit.colours import ROOTED
from armillary.figures.kit.each_head import labels, least_and_most, starts_of
from armillary.figures.kit.fields import BAR, MATRICES, TITLES, heatmap, ruler, squared, squared_each
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import axis_label, drawn
from armillary.figures.kit.words import NOT_ESTIMABLE, at, error_words, largest
from armillary.results.reading import Estimate, draws, has, numbers

COLUMNS = 3
"""How many maps stand side by side, on a phone too."""


def most_unlike(
    maps: Float[np.ndarray, "head query_bin key_bin"], count: int = MATRICES, named: Sequence[int] = ()
) -> list[int]:
    """Heads whose maps differ most, and those that are named, in the order of the heads.

    One after the other, always the head that is furthest from the mean map and from those already taken; the distance
    of two maps is the sum of their absolute differences.
    """
    flat = np.nan_to_num(maps).reshape(len(maps), -1)
    nearest = np.abs(flat - flat.mean(0)).sum(1)
    taken = sorted(set(named))[:count]
    for head in taken:
        nearest = np.minimum(nearest, np.abs(flat - flat[head]).sum(1))
    nearest[taken] = -1.0
    while len(taken) < min(count, len(flat)):
        taken.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.abs(flat - flat[taken[-1]]).sum(1))
        nearest[taken] = -1.0
    return sorted(taken)


def by_head(values: Float[np.ndarray, "block head query_bin key_bin"]) -> Float[np.ndarray, "_ query_bin key_bin"]:
    """The maps of all heads, block after block."""
    return values.reshape(-1, *values.shape[2:])


def unmasked(maps: Float[np.ndarray, "head query_bin key_bin"]) -> Float[np.ndarray, "head query_bin key_bin"]:
    """Maps of which the cells that no query may see are empty: above the diagonal where all heads have 0 there."""
    above = np.triu(np.ones(maps.shape[1:], dtype=bool), 1)
    return np.where(above, np.nan, maps) if not np.nan_to_num(maps[:, above]).any() else maps


def maps(results: xr.DataTree) -> go.Figure:
    """Mean maps of the heads that differ most, on one scale of colours."""
    values, names = unmasked(by_head(drawn(results, "heads/map"))), labels(results, "heads/map")
    some = most_unlike(values, named=named_heads(results))
    rows, across = -(-len(some) // COLUMNS), starts_of(results, "heads/map", "key_bin")
    height = 90 + 175 * rows
    figure = panels(rows, min(COLUMNS, len(some)), tuple(names[head] for head in some), height=height, gap=56)
    top, bar = float(np.nanmax(values[some], initial=0.0)) or 1.0, axis_label("heads/map")
    hover = "query from %{y}, key from %{x}: %{z:.3g} %<extra></extra>"
    for place, head in enumerate(some):
        trace = heatmap(values[head], bar, (0.0, top), signed=False, x=across, y=across, hovertemplate=hover)
        trace.update(name=names[head], colorscale=ROOTED, showscale=place == 0, colorbar=ruler(bar, height, TITLES))
        figure.add_trace(trace, place // COLUMNS + 1, place % COLUMNS + 1)
    squared_each(squared(figure, "", ""))
    for panel, axis in enumerate(figure.select_yaxes()):
        axis.update(showticklabels=panel % COLUMNS == 0)  # elsewhere the numbers would lie on the panel beside
    figure.update_annotations(font={"size": 12})
    return axes(figure, "key", "query").update_layout(margin={"t": BAR + 30}, height=height + BAR + 6)


def staying(results: xr.DataTree) -> tuple[Estimate, list[str], str]:
    """How much stays in a query's own bin, head by head; the error of a mean is at most the mean of the errors."""
    values, names = by_head(numbers(results, "heads/map")), labels(results, "heads/map")
    own = np.diagonal(values, axis1=1, axis2=2).mean(1)
    unknown = np.full_like(own, np.nan)
    se = unknown
    if has(results, "heads/map_se"):
        se = np.diagonal(by_head(numbers(results, "heads/map_se")), axis1=1, axis2=2).mean(1)
    starts = starts_of(results, "heads/map", "key_bin")
    width = int(starts[1] - starts[0]) if len(starts) > 1 else 1
    where = "the query's own position" if width == 1 else f"the query's own bin of {width} positions"
    return Estimate("head", own, se, unknown, unknown, draws(results, "heads/map")), names, where


def named_heads(results: xr.DataTree) -> list[int]:
    """The heads that title and caption name: most and least in the query's own bin. A reader looks for their maps."""
    own, _, _ = staying(results)
    return [largest(own.value), largest(-own.value)] if np.isfinite(own.value).any() else []


def maps_finding(results: xr.DataTree) -> str:
    """The head that keeps most of its attention near the query."""
    own, names, where = staying(results)
    if not np.isfinite(own.value).any():
        return f"The mean attention maps are {NOT_ESTIMABLE}"
    best = largest(own.value)
    return f"{names[best]} keeps {at(own, best, '%')} of its attention in {where}"


def maps_detail(results: xr.DataTree) -> str:
    """From the head that keeps least there to the one that keeps most."""
    own, names, _ = staying(results)
    return " to ".join(least_and_most(own, names, "%")) if np.isfinite(own.value).any() else ""


FIGURES = (
    Figure(
        "head-maps",
        "heads",
        ("heads/map",),
        maps_finding,
        maps,
        f"Mean attention from bins of queries (top to bottom) to bins of keys (left to right), for at most {MATRICES} "
        "heads: those that title and caption name, and those whose maps differ most from the mean and from each other. "
        "A stripe along the diagonal is local "
        "attention, a stripe on the left an attention sink. All panels share one scale, whose colours go with the "
        "square root. Empty: keys that a query may not see.",
        "Σ p over the keys of a bin, mean over the queries of a bin and over windows; rows add up to 1. The interval "
        f"in the title ({error_words('heads/map')}) is an upper bound: the mean of the cells' standard errors",
        "docs/measures.md",
        maps_detail,
    ),
)

"""Tokens that dominate a layer without being massive: what they hold of its variance, and CKA without them."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Bool, Float

from armillary.figures.kit.colours import ESTIMATE, NULL, THRESHOLD, series
from armillary.figures.kit.curves import draw_line, layer_axis
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import drawn
from armillary.figures.kit.words import NOT_ESTIMABLE, largest, layer_ranges, number
from armillary.measures.influence import DOMINATED, EVEN
from armillary.results.reading import array, has, numbers, optional
from armillary.system.texts import in_quotes

SHARE, TOKEN = "influence/dominant_share", "influence/dominant"
CKA, LESS = "depth/cka_debiased", "influence/cka_debiased_less_dominant"
NAMES = 3
"""How many texts of tokens are named."""


def dominated(results: xr.DataTree) -> Bool[np.ndarray, " layer"]:
    """The layers that such tokens dominate."""
    return numbers(results, SHARE) > DOMINATED


def named(results: xr.DataTree) -> str:
    """The dominant tokens by text, commonest first: ‘ the’ ×13, ‘␣’ ×4."""
    if not has(results, "sample/text"):
        return ""
    texts = array(results, "sample/text").values.astype(str)[array(results, TOKEN).values.astype(bool)]
    found, counts = np.unique(texts, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    words = [f"{in_quotes(found[place])} ×{counts[place]}" for place in order[:NAMES]]
    return ", ".join([*words, *(["…"] if len(found) > NAMES else [])])


def others_cka(values: Float[np.ndarray, "layer layer_"]) -> Float[np.ndarray, " layer"]:
    """Every layer's median CKA with the other layers."""
    apart = np.where(np.eye(len(values), dtype=bool), np.nan, values)
    return np.array([np.nanmedian(row) if np.isfinite(row).any() else np.nan for row in apart])


def draw(results: xr.DataTree) -> go.Figure:
    """Above, the share of variance in dominant tokens; below, CKA with the other layers, with and without them."""
    both = has(results, CKA) and has(results, LESS)
    titles = ("share of the variance in dominant tokens", "median CKA with the other layers")
    figure = panels(2, 1, titles, height=560) if both else panels()
    share = drawn(results, SHARE)
    draw_line(figure, share, "dominant tokens", ESTIMATE)
    draw_line(figure, np.full(share.size, 100 * DOMINATED), "a layer is dominated above", THRESHOLD, "dash")
    if both:
        draw_line(figure, others_cka(numbers(results, CKA)), "all sampled tokens", NULL, "dash", 2)
        draw_line(figure, others_cka(numbers(results, LESS)), "without the dominant tokens", series(1)[0], "solid", 2)
    layer_axis(figure, share.size)
    axes(figure, "layer", "CKA", rangemode="tozero")
    return figure.update_yaxes(title_text="share, %", row=1, col=1)


def finding(results: xr.DataTree) -> str:
    """How many tokens hold how much of which layer."""
    share, tokens = numbers(results, SHARE), array(results, TOKEN).values.astype(bool)
    if not np.isfinite(share).any():
        return f"What single tokens hold of a layer's variance is {NOT_ESTIMABLE}"
    if not tokens.any():
        return f"No token dominates a layer: none holds {EVEN:g} times its even share"
    layer = largest(share)
    held = f"{number(100 * float(share[layer]))} % of layer {layer}'s variance"
    if tokens.sum() == 1:
        return f"1 of {tokens.size} sampled tokens holds {held}"
    return f"{tokens.sum()} of {tokens.size} sampled tokens hold {held}"


def detail(results: xr.DataTree) -> str:
    """Which tokens, in which layers, and what measures are with and without them."""
    layers = dominated(results)
    if not layers.any():
        return ""
    layer, parts = largest(numbers(results, SHARE)), []
    if has(results, CKA) and has(results, LESS):
        with_them, without = (others_cka(numbers(results, path))[layer] for path in (CKA, LESS))
        parts.append(f"median CKA with other layers {number(float(with_them))} → {number(float(without))}")
    for words, path, less, unit in (
        ("participation ratio", "influence/participation_ratio", "influence/participation_ratio_less_dominant", 1),
        ("position share", "position/share_corrected", "influence/position_share_less_dominant", 100),
    ):
        pair = [optional(results, path), optional(results, less)]
        if all(values is not None and np.isfinite(values[layer]) for values in pair):
            before, after = (number(unit * float(values[layer])) for values in pair if values is not None)
            parts.append(f"{words} {before} → {after}{' %' if unit == 100 else ''}")
    tokens = f": {named(results)}" if named(results) else ""
    effects = f". Without them, in layer {layer}: {'; '.join(parts)}" if parts else ""
    return f"They dominate {layer_ranges(layers)}{tokens}{effects}"


FIGURES = (
    Figure(
        "dominant-tokens",
        "states",
        (SHARE, TOKEN),
        finding,
        draw,
        "Tokens that are not massive but hold so much of a layer's variance that its averages speak of them. "
        f"A sampled token dominates where it holds over {EVEN:g} times its even share, in a layer where such tokens "
        f"hold over {100 * DOMINATED:g} % together. An island of layers in CKA that vanishes without them is theirs. "
        "No interval: tokens are named, not estimated.",
        "‖x − mean‖² / Σ ‖x − mean‖², over the sampled tokens; even share 1/n",
        "docs/measures.md",
        detail,
    ),
)

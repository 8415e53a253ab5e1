"""Figures of what position does in heads: in their weights, in where their scores peak, and in how smooth these are."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.curves import draw_estimate, draw_null, layer_axis
from armillary.figures.kit.each_head import dots_by_block, draws, labels, least_and_most, per_head, spread
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import NULL, PALETTE, axes, panels
from armillary.figures.kit.words import at, largest, span
from armillary.figures.position.smoothness import SHOWN
from armillary.results.reading import Estimate, array, numbers, optional

SHARE = "qk_smoothness/low_frequency_share"


def against_null(results: xr.DataTree, path: str, null: str) -> go.Figure:
    """A dot per head over the blocks, in per cent, and a grey dash for what its null gives."""
    figure, sizes = dots_by_block(results, {"": path}, 430), array(results, path).sizes
    figure.data[0].update(y=100 * figure.data[0].y, name="a head", showlegend=True)
    values = optional(results, f"{path}_null")
    if values is not None:
        across = spread(sizes["block"], sizes["head"])
        trace = go.Scatter(x=across, y=100 * values.ravel(), mode="markers", name=null, text=labels(results, path))
        marker = {"symbol": "line-ew", "size": 7, "line": {"color": NULL, "width": 2}}
        figure.add_trace(trace.update(marker=marker, hovertemplate="%{text}: %{y:.4g}<extra></extra>"))
    return figure


def exceeding(results: xr.DataTree, path: str) -> str | None:
    """What the nulls give, and how many heads have more than the highest of them; None where there are no nulls."""
    value, null = numbers(results, path).ravel(), optional(results, f"{path}_null")
    if null is None or not np.isfinite(null).any():
        return None
    known = np.isfinite(value)
    more = int((value[known] > np.nanmax(null)).sum())
    return f"{span(null.ravel(), '%')}, and {more} of {int(known.sum())} heads have more than the highest of these"


def dissection(results: xr.DataTree) -> go.Figure:
    """The share of every head's weights that lies along position directions, beside that of random ones."""
    figure = against_null(results, "dissection/energy_position", "null: random directions")
    return axes(figure, "block", "share of ‖W‖², %", type="log")


def dissection_finding(results: xr.DataTree) -> str:
    """The smallest and the largest share, and what random directions give on average."""
    path = "dissection/energy_position"
    one = per_head(results, path)
    if not np.isfinite(one.value).any():
        return "How much of the heads' weights lies along position directions is not determined"
    least, most = least_and_most(one, labels(results, path), "%")
    rank = results.children["dissection"].attrs.get("rank")
    directions = f"The {int(rank)} strongest position directions" if rank else "The strongest position directions"
    told = f"{directions} hold from {least} to {most} of a head's weights ‖W‖²"
    chance = exceeding(results, path)
    return f"{told}; what chance gives is not determined" if chance is None else f"{told}; random ones hold {chance}"


def peaks(results: xr.DataTree) -> go.Figure:
    """At how many positions mean and position alone make a query of every head score itself highest."""
    figure = against_null(results, "qk_smoothness/argmax_share", "null: windows turned at random")
    return axes(figure, "block", "positions, %", range=[-3, 103])


def peaks_finding(results: xr.DataTree) -> str:
    """From how few to how many positions, beside the null; there is no error for it."""
    path = "qk_smoothness/argmax_share"
    one = per_head(results, path)
    if not np.isfinite(one.value).any():
        return "Whether the position part of the scores peaks at the query itself is not determined"
    least, most = least_and_most(one, labels(results, path), "%")
    told = f"Mean and position alone make a query score itself highest at {least} to {most} of the positions"
    chance = exceeding(results, path)
    rest = "what chance gives is not determined" if chance is None else f"turned windows give {chance}"
    return f"{told}; {rest}. There is no error for it"


def over_heads(results: xr.DataTree, path: str, frequency: int) -> Estimate:
    """The mean over heads at one K; its error is at most the mean of theirs."""
    value, se = numbers(results, path, frequency=frequency), optional(results, f"{path}_se", frequency=frequency)
    mean = value.mean(1) if value.ndim > 1 else value
    unknown = np.full_like(mean, np.nan)
    return Estimate("block", mean, unknown if se is None else se.mean(1), unknown, unknown, draws(results, path))


def low_frequencies(results: xr.DataTree) -> go.Figure:
    """One panel per K: the shares of three matrices over the blocks, and the nulls of the two that have one."""
    count = array(results, f"{SHARE}_gram").sizes["frequency"]
    shown = [k for k in SHOWN if k < count] or [count - 1]
    rows, columns = -(-len(shown) // 2), min(2, len(shown))
    figure = panels(rows, columns, tuple(f"K = {k}" for k in shown), 160 + 220 * rows, one_scale=True)
    for place, k in enumerate(shown):
        row, column = place // 2 + 1, place % 2 + 1
        for colour, (name, title) in zip(PALETTE, SIDES.items(), strict=False):
            draw_estimate(figure, over_heads(results, f"{SHARE}_{name}", k), title, colour, row, column)
        for name, dash in (("gram", "dash"), ("weighted", "dot")):
            null = optional(results, f"{SHARE}_{name}_null", frequency=k)
            if null is not None:
                mean = null.mean(1) if null.ndim > 1 else null
                draw_null(figure, mean, f"null of {SIDES[name]}", row, column, dash)
    layer_axis(figure, array(results, f"{SHARE}_gram").sizes["block"])
    return axes(figure, "block", "share of energy", range=[0, 1.03])


SIDES = {"gram": "P Pᵀ", "weighted": "P W Pᵀ", "logits": "logits"}
"""The three matrices, as the legend and the title name them."""


def low_frequencies_finding(results: xr.DataTree, highest: int = 10) -> str:
    """The share of frequencies 0..K in each matrix over the blocks, with nulls, and the error of the logits."""
    highest = min(highest, array(results, f"{SHARE}_gram").sizes["frequency"] - 1)
    told = []
    for name, title in SIDES.items():
        one, null = over_heads(results, f"{SHARE}_{name}", highest), optional(results, f"{SHARE}_{name}_null")
        if not np.isfinite(one.value).any():
            return "How smooth the scores of heads are is not determined"
        known = f"{title} {span(one.value, '%')}"
        if name == "logits":
            best = largest(one.value)
            known += f", highest in block {best}: {at(one, best, '%')}"
        if null is not None:
            chance = null[..., highest].reshape(len(null), -1).mean(1)
            known += f" (turned windows {span(chance, '%')})"
        told.append(known)
    return f"Of the energy, frequencies 0 to {highest} hold, over the blocks: {'; '.join(told)}"


FIGURES = (
    Figure(
        "head-dissection",
        "heads",
        ("dissection/energy_position",),
        dissection_finding,
        dissection,
        "How much of each head's weights W = W_Q W_Kᵀ acts between the strongest directions of the position vectors, "
        "as query and as key, a dot per head; the diagonal of W is left out. Grey: as many directions drawn at random, "
        "the mean; how far chance strays from it is not known. Weights have no error, the directions have one that is "
        "not carried on. Under rotary positions W is what a token sees of itself.",
        "‖Vᵀ(W − D)V‖² / ‖W‖², V the leading right singular vectors of the position basis of the attention's input, D "
        "the diagonal of W; null: the mean over frames drawn evenly, in closed form",
        "Song & Zhong (2023), equation 9 and Figure 4; docs/measures.md",
    ),
    Figure(
        "head-argmax",
        "heads",
        ("qk_smoothness/argmax_share",),
        peaks_finding,
        peaks,
        "Were tokens nothing but mean and position, how often would a query score itself highest, among itself and the "
        "tokens before it? 100 %: at every position. Grey: the same from windows turned at random, where the "
        "position vectors mean nothing; what the mean gives stays, and under rotary positions it alone may peak at the "
        "query. Scores drawn at random give about (ln T + 0.58) / T of T positions.",
        "share of t with s_tt ≥ s_tu for all u < t, s = (P + mean) W (P + mean)ᵀ with biases and rotation",
        "Song & Zhong (2023), equation 8 and Figure 25; docs/measures.md",
    ),
    Figure(
        "head-smoothness",
        "heads",
        tuple(f"{SHARE}_{name}" for name in ("gram", "weighted", "logits")),
        low_frequencies_finding,
        low_frequencies,
        "How smooth along positions three matrices are, by the energy in their lowest frequencies 0..K: the cosines of "
        "the position vectors (P Pᵀ), the part of the scores that comes from position alone (P W Pᵀ), and all scores "
        "(logits); the last two are means over heads. Nulls: windows turned at random. P Pᵀ and P W Pᵀ have no error; "
        "the band of the logits is an upper bound, from the mean of the heads' errors.",
        "r_K = Σ_{i,j ≤ K} Ŝ_ij² / Σ Ŝ_ij², Ŝ the orthonormal 2-D DCT-II of the matrix; K counted from 0; logits "
        "before soft cap, ALiBi and mask, mean over windows",
        "Song & Zhong (2023), Table 3; docs/measures.md",
    ),
)

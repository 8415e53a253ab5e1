"""Figures of what position does in heads: in their weights, in where their scores peak, and in how smooth these are."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.colours import ESTIMATE, NULL, POSITION, series
from armillary.figures.kit.curves import draw_estimate, draw_null, layer_axis
from armillary.figures.kit.each_head import dots_by_block, labels, least_and_most, per_head, spread
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import in_unit, scale_of
from armillary.figures.kit.words import NO_NULL, NOT_ESTIMABLE, at, error_words, largest, span
from armillary.figures.position.smoothness import SHOWN
from armillary.results.reading import Estimate, array, draws, numbers, optional

SHARE = "qk_smoothness/low_frequency_share"


def against_null(results: xr.DataTree, path: str, null: str) -> go.Figure:
    """A dot per head over the blocks, in per cent, and a grey dash for what its null gives."""
    figure, sizes = dots_by_block(results, {"": path}, 430), array(results, path).sizes
    figure.data[0].update(y=scale_of(path) * figure.data[0].y, name="a head", showlegend=True)
    figure.data[0].marker.color = POSITION
    values = optional(results, f"{path}_null")
    if values is not None:
        across = spread(sizes["block"], sizes["head"])
        trace = go.Scatter(
            x=across, y=scale_of(path) * values.ravel(), mode="markers", name=null, text=labels(results, path)
        )
        marker = {"symbol": "line-ew", "size": 7, "line": {"color": NULL, "width": 2}}
        figure.add_trace(trace.update(marker=marker, hovertemplate="%{text}: %{y:.4g}<extra></extra>"))
    return figure


def exceeding(results: xr.DataTree, path: str) -> str | None:
    """The span of the nulls, and how many heads exceed the highest of them; None where there are no nulls."""
    value, null = numbers(results, path).ravel(), optional(results, f"{path}_null")
    if null is None or not np.isfinite(null).any():
        return None
    known = np.isfinite(value)
    more = int((value[known] > np.nanmax(null)).sum())
    return f"{span(null.ravel(), '%')}, and {more} of {int(known.sum())} heads exceed the highest"


def dissection(results: xr.DataTree) -> go.Figure:
    """The share of every head's weights along the directions of the positional basis, beside that of random ones."""
    figure = against_null(results, "dissection/energy_position", "null: random directions")
    return axes(figure, "block", "share of ‖W‖², %", type="log")


def dissection_finding(results: xr.DataTree) -> str:
    """The largest share."""
    path = "dissection/energy_position"
    energy = per_head(results, path)
    if not np.isfinite(energy.value).any():
        return f"The share of heads' weights along position directions is {NOT_ESTIMABLE}"
    _, most = least_and_most(energy, labels(results, path), "%")
    return f"Position directions hold at most {most} of a head's ‖W‖²"


def dissection_detail(results: xr.DataTree) -> str:
    """How many directions, the smallest and the largest share, and what random directions give on average."""
    path = "dissection/energy_position"
    energy = per_head(results, path)
    if not np.isfinite(energy.value).any():
        return ""
    rank = results.children["dissection"].attrs.get("rank")
    directions = f"{int(rank)} leading directions: " if rank else ""
    least, most = least_and_most(energy, labels(results, path), "%")
    null = exceeding(results, path)
    return f"{directions}{least} to {most}; " + (NO_NULL if null is None else f"random directions {null}")


def peaks(results: xr.DataTree) -> go.Figure:
    """At how many positions mean and position alone make a query of every head score itself highest."""
    figure = against_null(results, "qk_smoothness/argmax_share", "circular-shift null")
    return axes(figure, "block", "positions, %", range=[-3, 103])


def peaks_finding(results: xr.DataTree) -> str:
    """How many heads exceed the null; there is no interval for it."""
    path = "qk_smoothness/argmax_share"
    share = per_head(results, path)
    if not np.isfinite(share.value).any():
        return f"The argmax property of heads is {NOT_ESTIMABLE}"
    null = optional(results, f"{path}_null")
    if null is None or not np.isfinite(null).any():
        _, most = least_and_most(share, labels(results, path), "%")
        return f"By position a query scores itself highest at up to {most} of positions"
    known = np.isfinite(share.value) & np.isfinite(null.ravel())
    above = int((share.value > null.ravel())[known].sum())
    return f"{above} of {known.sum()} heads peak at the query more often than circularly shifted"


def peaks_detail(results: xr.DataTree) -> str:
    """From how few to how many positions, beside the null."""
    path = "qk_smoothness/argmax_share"
    share, null = per_head(results, path), exceeding(results, path)
    if not np.isfinite(share.value).any():
        return ""
    least, most = least_and_most(share, labels(results, path), "%")
    return f"At {least} to {most} of positions; " + (NO_NULL if null is None else f"circular-shift null {null}")


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
        for name, title in SIDES.items():
            path = f"{SHARE}_{name}"
            draw_estimate(figure, in_unit(path, over_heads(results, path, k)), title, COLOURS[name], row, column)
        for name, dash in (("gram", "dash"), ("weighted", "dot")):
            null = optional(results, f"{SHARE}_{name}_null", frequency=k)
            if null is not None:
                mean = 100 * (null.mean(1) if null.ndim > 1 else null)
                draw_null(figure, mean, f"circular-shift null of {SIDES[name]}", row, column, dash)
    layer_axis(figure, array(results, f"{SHARE}_gram").sizes["block"])
    return axes(figure, "block", "share of energy, %", range=[0, 103])


SIDES = {"gram": "P Pᵀ", "weighted": "P W Pᵀ", "logits": "logits"}
COLOURS = {"gram": POSITION, "weighted": ESTIMATE, "logits": series(1)[0]}
"""The three matrices, as the legend and the title name them, and their colours."""


def low_frequencies_finding(results: xr.DataTree, highest: int = 10) -> str:
    """The largest share of low frequencies in the logits of a block, mean over its heads."""
    highest = min(highest, array(results, f"{SHARE}_gram").sizes["frequency"] - 1)
    shares = [over_heads(results, f"{SHARE}_{name}", highest) for name in SIDES]
    if not all(np.isfinite(share.value).any() for share in shares):
        return f"The low-frequency share of heads' scores is {NOT_ESTIMABLE}"
    best = largest(shares[-1].value)
    return f"Frequencies 0 to {highest} hold at most {at(shares[-1], best, '%')} of the logits (block {best})"


def low_frequencies_detail(results: xr.DataTree, highest: int = 10) -> str:
    """The share of frequencies 0..K in each matrix over the blocks, with nulls, and the error of the logits."""
    highest = min(highest, array(results, f"{SHARE}_gram").sizes["frequency"] - 1)
    parts = []
    for name, title in SIDES.items():
        share, null = over_heads(results, f"{SHARE}_{name}", highest), optional(results, f"{SHARE}_{name}_null")
        if not np.isfinite(share.value).any():
            return ""
        best = largest(share.value)
        value = f"at most {at(share, best, '%')} (block {best})" if name == "logits" else span(share.value, "%")
        part = f"{title} {value}"
        if null is not None:
            part += f" (null {span(null[..., highest].reshape(len(null), -1).mean(1), '%')})"
        parts.append(part)
    return f"Energy in frequencies 0 to {highest}: {', '.join(parts)}"


FIGURES = (
    Figure(
        "head-dissection",
        "heads",
        ("dissection/energy_position",),
        dissection_finding,
        dissection,
        "How much of each head's weights W = W_Q W_Kᵀ acts between the leading directions of the positional basis, as "
        "query and as key, a dot per head; the diagonal of W is left out. Grey: the mean for as many random "
        "directions; the spread of this null is not estimated. No interval: weights have no error, and that of the "
        "directions is not propagated. Under rotary positions W is what a token sees of itself.",
        "‖Vᵀ(W − D)V‖² / ‖W‖², V the leading right singular vectors of the position basis of the attention's input, D "
        "the diagonal of W; null: the mean over frames drawn evenly, in closed form",
        "Song & Zhong (2023), equation 9 and Figure 4; docs/measures.md",
        dissection_detail,
    ),
    Figure(
        "head-argmax",
        "heads",
        ("qk_smoothness/argmax_share",),
        peaks_finding,
        peaks,
        "If tokens were only mean + position, how often would a query score itself highest, among itself and the "
        "previous tokens? 100 %: at every position. Grey: the same for circularly shifted windows, which have no "
        "positional signal; the mean's part stays, and under rotary positions it alone may peak at the query. Random "
        "scores give about (ln T + 0.58) / T of T positions. No interval.",
        "share of t with s_tt ≥ s_tu for all u < t, s = (P + mean) W (P + mean)ᵀ with biases and rotation",
        "Song & Zhong (2023), equation 8 and Figure 25; docs/measures.md",
        peaks_detail,
    ),
    Figure(
        "head-smoothness",
        "heads",
        tuple(f"{SHARE}_{name}" for name in ("gram", "weighted", "logits")),
        low_frequencies_finding,
        low_frequencies,
        "How smooth along positions three matrices are, by the energy in their lowest frequencies 0..K: the cosines of "
        "the position vectors (P Pᵀ), the position → position term of the scores (P W Pᵀ), and all scores (logits); "
        "the last two are means over heads. Nulls: circularly shifted windows. P Pᵀ and P W Pᵀ have no interval; the "
        f"band of the logits ({error_words(SHARE + '_logits')}) is an upper bound, from the mean of the heads' errors.",
        "r_K = Σ_{i,j ≤ K} Ŝ_ij² / Σ Ŝ_ij², Ŝ the orthonormal 2-D DCT-II of the matrix; K counted from 0; logits "
        "before soft cap, ALiBi and mask, mean over windows",
        "Song & Zhong (2023), Table 3; docs/measures.md",
        low_frequencies_detail,
    ),
)

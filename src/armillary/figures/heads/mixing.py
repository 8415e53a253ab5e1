"""Figures of what attention does to the tokens of a window, by block: how alike they become, how much is added."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.curves import draw_null, labelled_curve
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.words import at, contrast, counted, largest, number, span
from armillary.results.reading import estimate, numbers

SIDES = {"states that the block receives": "residual", "output of the attention": "output"}


def both_sides(results: xr.DataTree, name: str, up: str) -> go.Figure:
    """A measure of the states and of the attention's output, block by block."""
    return labelled_curve(results, {text: f"mixing/{name}_{side}" for text, side in SIDES.items()}, up)


def similarity(results: xr.DataTree) -> go.Figure:
    """Mean cosine of different tokens of a window, in the states and in the attention's output."""
    figure = both_sides(results, "similarity", "mean cosine")
    draw_null(figure, np.zeros(numbers(results, "mixing/similarity_output").size), "unrelated directions")
    return figure.update_yaxes(rangemode="tozero")


def similarity_finding(results: xr.DataTree) -> str:
    """Whether the output of attention is more alike from token to token than the states."""
    words = ("more alike", "less alike", "Mean cosine of different tokens of a window")
    return sides_finding(results, "similarity", *words)


def collapse(results: xr.DataTree) -> go.Figure:
    """How far the tokens of a window are from being one vector, in the states and in the attention's output."""
    return both_sides(results, "collapse", "‖X − 1x̄ᵀ‖ / ‖X‖").update_yaxes(rangemode="tozero")


def collapse_finding(results: xr.DataTree) -> str:
    """Whether the output of attention is nearer to one vector for all tokens than the states."""
    words = ("further from one vector", "nearer to one vector", "Distance from one vector, 0 to 1")
    return sides_finding(results, "collapse", *words)


def sides_finding(results: xr.DataTree, name: str, higher: str, lower: str, what: str) -> str:
    """In how many blocks output and states are told apart, and both where they differ most."""
    state, output = (estimate(results, f"mixing/{name}_{side}") for side in ("residual", "output"))
    compared = contrast(output, state)
    if not np.isfinite(compared.difference).any():
        return f"{what} is not determined"
    best = largest(np.abs(compared.difference))
    values = f"{at(output, best)} against {at(state, best)} (block {best})"
    if not compared.known.any():
        return f"{what}: {values}, output against states; whether they differ is not determined"
    if not (compared.above | compared.below).any():
        return f"Whether attention makes tokens {lower} or {higher} is not determined: {values}, output against states"
    told = [
        f"{words} than the states in {counted(mask, 'block')}"
        for words, mask in ((higher, compared.above), (lower, compared.below))
        if mask.any()
    ]
    return f"The tokens' attention output is {', '.join(told)}: {values}"


def output_norm(results: xr.DataTree) -> go.Figure:
    """Norm of the attention's output over that of the state, block by block."""
    figure = labelled_curve(results, {"output / state": "mixing/output_norm"}, "‖output‖ / ‖state‖", rangemode="tozero")
    return figure.update_layout(showlegend=False)


def output_norm_finding(results: xr.DataTree) -> str:
    """How much attention adds, most in which block, and what it comes to in the last."""
    one = estimate(results, "mixing/output_norm")
    if not np.isfinite(one.value).any():
        return "How long the attention's output is against the state is not determined"
    best = largest(one.value)
    told = f"The attention's output is {span(one.value)} times as long as the state"
    return f"{told}, longest in block {best}: {at(one, best)}; {number(float(one.value[-1]))} in the last block"


FIGURES = (
    Figure(
        "token-similarity",
        "heads",
        ("mixing/similarity_residual", "mixing/similarity_output"),
        similarity_finding,
        similarity,
        "How alike the tokens of a window are before attention and in what attention gives: 1 if all point the same "
        "way. A mean that all states share counts as likeness; the output is read before any norm.",
        "mean of cos(x_i, x_j) over pairs of different tokens of a window, mean over windows; band: 95 %",
        "docs/measures.md",
    ),
    Figure(
        "rank-collapse",
        "heads",
        ("mixing/collapse_residual", "mixing/collapse_output"),
        collapse_finding,
        collapse,
        "How far the tokens of a window are from being one and the same vector: 0 if they are, near 1 if their mean is "
        "nothing. Attention alone, without skip and feed-forward, would bring it to 0 with depth.",
        "‖X − 1x̄ᵀ‖ / ‖X‖, Frobenius norms over the tokens of a window, mean over windows; band: 95 %",
        "Dong, Cordonnier & Loukas (2021)",
    ),
    Figure(
        "attention-output",
        "heads",
        ("mixing/output_norm",),
        output_norm_finding,
        output_norm,
        "How much attention adds to the stream: the norm of its output, before any norm layer, over that of the state "
        "that the block receives.",
        "mean over tokens of ‖output‖ / ‖state‖; band: 95 %",
        "docs/measures.md",
    ),
)

"""Figures of what attention does to the tokens of a window, by block: similarity, rank collapse, norm added."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Bool

from armillary.figures.kit.colours import ESTIMATE, series
from armillary.figures.kit.curves import draw_null, labelled_curve
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.words import NO_ERROR, NOT_ESTIMABLE, counted, error_words, largest, number
from armillary.measures.errors.testing import sign_test
from armillary.results.reading import LEVEL, has, numbers

SIGNS = "Significant: by the sign test over groups of documents, at 95 % for all blocks jointly."
SIMILAR = ("more similar", "less similar")
COLLAPSED = ("further from rank collapse", "nearer to rank collapse")
SIDES = {"hidden states that the block receives": ("residual", series(1)[0]), "attention output": ("output", ESTIMATE)}


def both_sides(results: xr.DataTree, name: str, up: str) -> go.Figure:
    """A measure of the states and of the attention's output, block by block."""
    paths = {text: (f"mixing/{name}_{side}", colour) for text, (side, colour) in SIDES.items()}
    return labelled_curve(results, paths, up)


def similarity(results: xr.DataTree) -> go.Figure:
    """Mean cosine of different tokens of a window, in the states and in the attention's output."""
    figure = both_sides(results, "similarity", "mean cosine")
    draw_null(figure, np.zeros(numbers(results, "mixing/similarity_output").size), "null: unrelated directions")
    return figure.update_yaxes(rangemode="tozero")


def similarity_finding(results: xr.DataTree) -> str:
    """Whether the tokens' attention outputs are more similar than their states."""
    return sides_finding(results, "similarity", *SIMILAR, "token similarity")


def collapse(results: xr.DataTree) -> go.Figure:
    """How far the tokens of a window are from rank collapse, in the states and in the attention's output."""
    return both_sides(results, "collapse", "‖X − 1x̄ᵀ‖ / ‖X‖").update_yaxes(rangemode="tozero")


def collapse_finding(results: xr.DataTree) -> str:
    """Whether the output of attention is nearer to rank collapse than the states."""
    return sides_finding(results, "collapse", *COLLAPSED, "distance from rank collapse")


def sides_finding(results: xr.DataTree, name: str, higher: str, lower: str, what: str) -> str:
    """In how many blocks output and states differ by the sign test, the way that most of them do."""
    state, output = (numbers(results, f"mixing/{name}_{side}") for side in ("residual", "output"))
    if not np.isfinite(output - state).any():
        return f"The {what} is {NOT_ESTIMABLE}"
    apart = differing(results, name)
    if apart is None:
        best = largest(np.abs(output - state))
        return f"The {what} of attention output is {number(float(output[best]))} (block {best}); {NO_ERROR}"
    if not apart.any():
        return f"The {what} of attention output and states does not differ significantly"
    masks = {higher: apart & (output > state), lower: apart & (output < state)}
    words = max(masks, key=lambda each: int(masks[each].sum()))
    return f"Attention output is {words} than the states in {counted(masks[words], 'block')}"


def differing(results: xr.DataTree, name: str) -> Bool[np.ndarray, " block"] | None:
    """Where output and states differ by the sign test, all blocks jointly; None without the values of the groups."""
    if not has(results, f"head_groups/{name}_output_groups"):
        return None
    each = [numbers(results, f"head_groups/{name}_{side}_groups") for side in ("residual", "output")]
    return np.asarray(sign_test(each[1] - each[0]) < (1 - LEVEL) / len(each[0]))


def sides_detail(results: xr.DataTree, name: str, higher: str, lower: str) -> str:
    """How many blocks differ which way, and both values where they differ most."""
    state, output = (numbers(results, f"mixing/{name}_{side}") for side in ("residual", "output"))
    if not np.isfinite(output - state).any():
        return ""
    best, apart = largest(np.abs(output - state)), differing(results, name)
    values = f"output {number(float(output[best]))}, states {number(float(state[best]))} (block {best})"
    if apart is None:
        return values
    counts = [
        f"{words} in {counted(apart & mask, 'block')}"
        for words, mask in ((higher, output > state), (lower, output < state))
        if (apart & mask).any()
    ]
    return "; ".join([*([f"Significantly {', '.join(counts)}"] if counts else []), values])


def output_norm(results: xr.DataTree) -> go.Figure:
    """Norm of the attention's output over that of the state, block by block."""
    paths = {"output / state": ("mixing/output_norm", ESTIMATE)}
    figure = labelled_curve(results, paths, "‖output‖ / ‖state‖", rangemode="tozero")
    return figure.update_layout(showlegend=False)


def output_norm_finding(results: xr.DataTree) -> str:
    """How much attention adds, most in which block."""
    ratio = numbers(results, "mixing/output_norm")
    if not np.isfinite(ratio).any():
        return f"The norm of the attention output is {NOT_ESTIMABLE}"
    best = largest(ratio)
    return f"Attention adds at most {number(float(ratio[best]))} of the state's norm (block {best})"


FIGURES = (
    Figure(
        "token-similarity",
        "heads",
        ("mixing/similarity_residual", "mixing/similarity_output"),
        similarity_finding,
        similarity,
        "Similarity of the tokens of a window before attention and in its output: 1 if all point the same way. A mean "
        "that all states share counts as similarity; the output is read before any norm. Band of the output: "
        f"{error_words('mixing/similarity_output')}; the states have none, for a few documents make them up. {SIGNS}",
        "mean of cos(x_i, x_j) over pairs of different tokens of a window, mean over windows",
        "docs/measures.md",
        lambda results: sides_detail(results, "similarity", *SIMILAR),
    ),
    Figure(
        "rank-collapse",
        "heads",
        ("mixing/collapse_residual", "mixing/collapse_output"),
        collapse_finding,
        collapse,
        "Distance of a window's tokens from rank collapse: 0 if all are the same vector, near 1 if their mean is near "
        "0. Attention alone, without skip connections and MLPs, would bring it to 0 with depth. No interval: a few "
        f"documents make these numbers up, and none covers. {SIGNS}",
        "‖X − 1x̄ᵀ‖ / ‖X‖, Frobenius norms over the tokens of a window, mean over windows",
        "Dong, Cordonnier & Loukas (2021)",
        lambda results: sides_detail(results, "collapse", *COLLAPSED),
    ),
    Figure(
        "attention-output",
        "heads",
        ("mixing/output_norm",),
        output_norm_finding,
        output_norm,
        "How much attention adds to the stream: the norm of its output, before any norm layer, over that of the state "
        "that the block receives. No interval: a few documents make this number up, and none covers.",
        "mean over tokens of ‖output‖ / ‖state‖",
        "docs/measures.md",
    ),
)

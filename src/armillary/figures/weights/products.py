"""Figures of W_QK and W_VO: what tells them from products of independent factors, and their spectra."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.colours import ESTIMATE, NULL
from armillary.figures.kit.curves import layer_axis
from armillary.figures.kit.each_head import dots, labels, per_head, spread
from armillary.figures.kit.fields import slider
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import axis_label
from armillary.figures.kit.words import NOT_ESTIMABLE, median, number
from armillary.measures.spectra.product_null import differing
from armillary.measures.spectra.verdicts import aligned_like_random
from armillary.results.reading import array, has, label_of, numbers
from armillary.results.weight_answers import percent

CONTROL = "random-weight control"
SCORES = ("trace", "top", "overlap")
MODES = 12
"""The most blocks that the slider of spectra shows."""


def with_control(results: xr.DataTree, paths: dict[str, str], height: int) -> go.Figure:
    """A panel per result, one dot per head over the blocks; the control's heads in grey behind them."""
    figure = panels(len(paths), 1, tuple(paths), height=height)
    for row, path in enumerate(paths.values(), 1):
        sizes = array(results, path).sizes
        across = spread(sizes["block"], sizes["head"])
        twin = path.replace("weights/", "weights_twin/")
        shown = [(twin, NULL, CONTROL)] if has(results, twin) else []
        for each, colour, name in [*shown, (path, ESTIMATE, "heads")]:
            one = per_head(results, each)
            trace = dots(one, across, labels(results, each), np.arange(one.value.size), colour)
            figure.add_trace(trace.update(name=name, legendgroup=name, showlegend=row == 1), row, 1)
        layer_axis(figure, sizes["block"])
    return figure


def differences(results: xr.DataTree) -> go.Figure:
    """The three z-scores of W_QK, every head of the model and of its control."""
    paths = {label_of(f"weights/{score}_qk_z"): f"weights/{score}_qk_z" for score in SCORES}
    return axes(with_control(results, paths, 760), "block", "standard deviations")


def differences_finding(results: xr.DataTree) -> str:
    """How many heads differ from products of independent factors, and how many of the control do."""
    counts = []
    for group in ("weights", "weights_twin"):
        if has(results, f"{group}/trace_qk_z"):
            mask = differing(*(numbers(results, f"{group}/{score}_qk_z") for score in SCORES))
            counts.append((int(mask.sum()), mask.size))
    (count, heads), *control = counts
    who = f"all {heads} heads" if count == heads else f"{count or 'none'} of {heads} heads"
    said = f"W_QK is unlike independent factors in {who}"
    return said + (f"; in the control in {control[0][0] or 'none'}" if control else "")


def differences_detail(results: xr.DataTree) -> str:
    """How many heads are unlike by their trace alone, and how many of them negatively."""
    found = aligned_like_random(numbers(results, "weights/trace_qk_z"))
    if not np.isfinite(found.share):
        return ""
    said = f"By the trace alone {percent(found.share)} % of heads are unlike independent factors"
    return f"{said}, {percent(found.negative)} % with a negative trace" if found.negative > 0 else said


def symmetries(results: xr.DataTree) -> go.Figure:
    """Symmetry and directionality of every head, beside the control."""
    paths = {label_of(f"weights/{name}"): f"weights/{name}" for name in ("symmetry", "directionality")}
    return axes(with_control(results, paths, 560), "block", "score")


def symmetries_finding(results: xr.DataTree) -> str:
    """The median symmetry of heads, and the control's."""
    value = median(numbers(results, "weights/symmetry"))
    if not np.isfinite(value):
        return f"The symmetry of W_QK is {NOT_ESTIMABLE}"
    said = f"W_QK has a median symmetry of {number(value)}"
    if has(results, "weights_twin/symmetry"):
        said += f"; the control {number(median(numbers(results, 'weights_twin/symmetry')))}"
    return said


def spectra(results: xr.DataTree) -> go.Figure:
    """Singular values of every head's W_QK, block by block, beside the mean of independent factors."""
    values, null = numbers(results, "weights/singular_value_qk"), numbers(results, "weights/singular_value_qk_null")
    some = np.unique(np.linspace(0, len(values) - 1, min(len(values), MODES)).round().astype(int))
    steps = []
    for block in some:
        traces = [line(values[block, head], f"L{block}H{head}", ESTIMATE, 1.0) for head in range(values.shape[1])]
        expected = line(null[block].mean(0), "independent factors, mean", NULL, 2.0)
        steps.append([*traces, expected.update(line={"dash": "dash"}, showlegend=True)])
    figure = slider(panels(height=420), steps, [str(block) for block in some])
    figure.layout.sliders[0].currentvalue.prefix = "block "
    return axes(figure, "singular value, by size", axis_label("weights/singular_value_qk"), type="log")


def line(values: np.ndarray, name: str, colour: str, width: float) -> go.Scatter:
    """One spectrum; what is zero has no place on a logarithmic axis."""
    shown = np.where(values > 0, values, np.nan)
    trace = go.Scatter(x=np.arange(len(values)), y=shown, mode="lines", name=name, showlegend=False)
    return trace.update(
        line={"color": colour, "width": width}, hovertemplate=f"{name}, %{{x}}: %{{y:.3g}}<extra></extra>"
    )


def spectra_finding(results: xr.DataTree) -> str:
    """How far the largest singular values lie from those of independent factors."""
    top, null = (numbers(results, f"weights/singular_value_qk{ending}")[..., 0] for ending in ("", "_null"))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = median(top / null)
    if not np.isfinite(ratio):
        return f"The spectra of W_QK are {NOT_ESTIMABLE}"
    return f"The largest singular value of W_QK is {number(ratio)} times that of independent factors (median head)"


NULLS = "The null keeps the singular values of W_Q and of W_K and turns both at random: only their alignment differs."

FIGURES = (
    Figure(
        "qk-alignment",
        "weights",
        ("weights/trace_qk_z", "weights/top_qk_z", "weights/overlap_qk_z"),
        differences_finding,
        differences,
        "W_QK = scale · W_Q W_Kᵀ of every head against products of independent factors, in standard deviations: its "
        f"trace, its largest singular value, the overlap of the subspaces that queries and keys read. {NULLS} “Unlike” "
        "is meant at 5 % for all heads and all three scores jointly.",
        "trace: (Tr W_Qᵀ W_K) / √(Σa² Σb² / (d_model d_head)), a, b the singular values; overlap: ‖U_Qᵀ U_K‖²/d_head, "
        "mean d_head / d_model; largest singular value: 24 simulated products",
        "Wertich (2024), 6.2–6.3, with the variance corrected; docs/measures.md",
        differences_detail,
    ),
    Figure(
        "qk-spectra",
        "weights",
        ("weights/singular_value_qk", "weights/singular_value_qk_null"),
        spectra_finding,
        spectra,
        f"Singular values of every head's W_QK, one line per head; the slider chooses the block. {NULLS}",
        "singular values of R_Q R_Kᵀ, W_Q = U_Q R_Q and W_K = U_K R_K by thin QR",
        "docs/measures.md",
    ),
    Figure(
        "qk-symmetry",
        "weights",
        ("weights/symmetry", "weights/directionality"),
        symmetries_finding,
        symmetries,
        "Symmetry: 1 if attention from x to y scores as from y to x, 0 if the opposite, ½ for random weights. "
        "Directionality: above 0 a few coordinates of the key's input stand out, below 0 of the query's.",
        "½ (1 + tr W² / ‖W‖²); (C − R) / (C + R), C and R the sums of column and row norms beyond mean + 2 sd",
        "Saponati and others (2025), arXiv 2502.10927",
    ),
)

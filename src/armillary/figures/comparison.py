"""The same curve of two runs in one figure, and in words where they differ."""

import textwrap

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.errors import RequestError
from armillary.figures.kit.curves import draw_estimate, layer_axis
from armillary.figures.kit.style import PALETTE, axes, literal, panels, titled
from armillary.figures.kit.words import counted, number, quoted
from armillary.results.reading import Estimate, array, estimate, has

AXES = ("layer", "block")

NAMES = {
    "position/share_corrected": "share of position in the variance, %",
    "position/rank_stable_corrected": "stable rank of the position basis",
    "position/relative_norm_corrected": "relative norm of the position basis",
    "attention_variance/share_corrected": "share of position in what attention receives, %",
    "context/similarity_within": "likeness of windows of one document",
    "context/similarity_between": "likeness of windows of different documents",
    "context/silhouette": "silhouette of windows by document",
    "context/purity": "share of windows nearest to their own document, %",
    "context/incoherence_mean": "mean |cosine| of position and context",
    "norms/norm": "mean length of a state",
    "depth/anisotropy": "mean cosine of two tokens",
    "depth/anisotropy_centred": "mean cosine of two tokens about their mean",
    "depth/dimension_twonn": "intrinsic dimension of the states",
    "depth/token_share": "share of the rest that the token explains, %",
    "mixing/similarity_residual": "likeness of tokens before attention",
    "mixing/similarity_output": "likeness of tokens in attention's output",
    "mixing/collapse_residual": "distance of the states from one vector",
    "mixing/collapse_output": "distance of attention's output from one vector",
    "mixing/output_norm": "length of attention's output over the state's",
}
"""Results in plain words, as the axis has them; those that end in % are drawn and told in per cent."""

PERCENT = ", %"
LABEL_LETTERS = 36  # a line beside an axis is then shorter than the figure is high


def compare_figure(name: str, one: xr.DataTree, other: xr.DataTree, theme: str = "light") -> go.Figure:
    """One result per layer or block, "position/share_corrected", of two runs, with the error bands of both.

    Runs of different depth are drawn layer by layer, each as long as it is.
    """
    first, second = compared_curve(name, one), compared_curve(name, other)
    figure = panels()
    for place, (results, curve) in enumerate(((one, first), (other, second))):
        draw_estimate(figure, curve, run_name(results, place + 1), PALETTE[place])
    unit = str(array(one, name).attrs.get("units", ""))
    label = NAMES.get(name, plain_name(name)) + ("" if unit in ("", "1") else f", {unit}")
    axes(figure, first.axis, "<br>".join(literal(line) for line in textwrap.wrap(label, LABEL_LETTERS)))
    layer_axis(figure, max(first.value.size, second.value.size))
    return titled(figure, compare_finding(name, one, other), theme)


def compared_curve(name: str, results: xr.DataTree) -> Estimate:
    """The estimate, refused where a run lacks it or it is no curve over layers."""
    if not has(results, name):
        raise RequestError(
            f"{name} is not in the run of {results.attrs.get('model')}: expected GROUP/VARIABLE of docs/schema.md, "
            "as in position/share_corrected; choose one that both runs hold"
        )
    dims = array(results, name).dims
    if len(dims) != 1 or dims[0] not in AXES:
        raise RequestError(f"{name} has axes {dims}, expected one value per layer or block: choose another result")
    found = estimate(results, name)
    return found.percent() if NAMES.get(name, "").endswith(PERCENT) else found


def plain_name(name: str) -> str:
    """A result in words: those of the table, else the name that the schema gives it."""
    return NAMES.get(name, name.partition("/")[2].replace("_", " ")).removesuffix(PERCENT)


def run_name(results: xr.DataTree, number: int) -> str:
    """Model and text of a run, numbered, as plotly may show them."""
    about = results.attrs
    return literal(f"{number}: {about.get('model', 'a model')} on {about.get('corpus', 'a text')}", 40)


def compare_finding(name: str, one: xr.DataTree, other: xr.DataTree) -> str:
    """In how many layers the two runs differ, at 95 % for all layers together; the runs count as independent."""
    first, second = compared_curve(name, one), compared_curve(name, other)
    what, count = plain_name(name), first.value.size
    if count != second.value.size:
        return f"The {what} of runs with {count} and {second.value.size} {first.axis}s is shown, not compared"
    margin = np.hypot(first.margin(count), second.margin(count))
    known = np.isfinite(margin) & np.isfinite(first.value) & np.isfinite(second.value)
    if not known.any():
        return f"Whether the {what} differs is not determined: one of the runs gives no error for it"
    difference = second.value - first.value
    apart = known & (np.abs(difference) > margin)
    points = " percentage points" if NAMES.get(name, "").endswith(PERCENT) else ""
    if not apart.any():
        room = number(float(np.max((np.abs(difference) + margin)[known])))
        return f"The {what} is not told apart in any {first.axis}; a difference of up to {room}{points} is possible"
    best = int(np.where(apart, np.abs(difference), -1).argmax())
    size = quoted(float(abs(difference[best])), float(margin[best])) + points
    where = counted(apart, first.axis) if apart.sum() == 1 else f"{counted(apart, first.axis)}, most in {best}"
    return f"The {what} differs in {where}: {'higher' if difference[best] > 0 else 'lower'} in the second run by {size}"

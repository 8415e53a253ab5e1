"""The same curve of two runs in one figure, and in words where they differ."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.errors import RequestError
from armillary.figures.curves import draw_estimate, layer_axis
from armillary.figures.reading import Estimate, array, estimate, has
from armillary.figures.style import PALETTE, axes, literal, panels, titled
from armillary.figures.words import counted, number, quoted

AXES = ("layer", "block")


def compare_figure(name: str, one: xr.DataTree, other: xr.DataTree, theme: str = "light") -> go.Figure:
    """One result per layer or block, "position/share_corrected", of two runs, with the error bands of both.

    Runs of different depth are drawn layer by layer, each as long as it is.
    """
    first, second = compared_curve(name, one), compared_curve(name, other)
    figure = panels()
    for place, (results, curve) in enumerate(((one, first), (other, second))):
        draw_estimate(figure, curve, run_name(results, place + 1), PALETTE[place])
    unit = str(array(one, name).attrs.get("units", ""))
    axes(figure, first.axis, literal(name.partition("/")[2] + ("" if unit in ("", "1") else f", {unit}")))
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
    return estimate(results, name)


def run_name(results: xr.DataTree, number: int) -> str:
    """Model and text of a run, numbered, as plotly may show them."""
    about = results.attrs
    return literal(f"{number}: {about.get('model', 'a model')} on {about.get('corpus', 'a text')}", 40)


def compare_finding(name: str, one: xr.DataTree, other: xr.DataTree) -> str:
    """In how many layers the two runs differ, at 95 % for all layers together; the runs count as independent."""
    first, second = compared_curve(name, one), compared_curve(name, other)
    what = name.partition("/")[2]
    if first.value.size != second.value.size:
        return f"{what} of two runs with {first.value.size} and {second.value.size} {first.axis}s: no layer has a twin"
    count = first.value.size
    margin = np.hypot(first.margin(count), second.margin(count))
    known = np.isfinite(margin) & np.isfinite(first.value) & np.isfinite(second.value)
    if not known.any():
        return f"Whether {what} differs is not determined: one of the runs gives no error for it"
    difference = second.value - first.value
    apart = known & (np.abs(difference) > margin)
    if not apart.any():
        room = number(float(np.max((np.abs(difference) + margin)[known])))
        return f"{what} is not told apart in any {first.axis}; a difference of up to {room} is possible"
    best = int(np.where(apart, np.abs(difference), -1).argmax())
    size = quoted(float(difference[best]), float(margin[best]))
    return f"{what} differs in {counted(apart, first.axis)}, most in {first.axis} {best}: second less first {size}"

"""The same curve of two runs in one figure, and in words where they differ."""

import textwrap

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Bool, Float

from armillary.errors import RequestError
from armillary.figures.kit.colours import RUN_1, RUN_2
from armillary.figures.kit.curves import draw_estimate, layer_axis
from armillary.figures.kit.style import axes, literal, panels, titled
from armillary.figures.kit.units import axis_label, drawn_estimate, scale_of
from armillary.figures.kit.words import NOT_ESTIMABLE, counted, error_words, number, quoted
from armillary.measures.errors.jackknife import half_width
from armillary.results.comparing import compared_group
from armillary.results.reading import LEVEL, Estimate, array, has, label_of, row_of
from armillary.results.store import Run
from armillary.results.two_runs import recorded, same_groups

Layers = Float[np.ndarray, " layer"]
AXES = ("layer", "block")
LABEL_LETTERS = 36  # a line beside an axis is then shorter than the figure is high


def compare_figure(name: str, one: xr.DataTree, other: xr.DataTree, theme: str = "light") -> go.Figure:
    """One result per layer or block, "position/share_corrected", of two runs, with the error bands of both.

    Runs of different depth are drawn layer by layer, each as long as it is.
    """
    first, second = compared_curve(name, one), compared_curve(name, other)
    figure = panels()
    names = run_names(Run(one), Run(other))
    draw_estimate(figure, first, run_name(names[0], 1), RUN_1)
    draw_estimate(figure, second, run_name(names[1], 2), RUN_2)
    lines = textwrap.wrap(axis_label(name), LABEL_LETTERS)
    axes(figure, first.axis, "<br>".join(literal(line) for line in lines))
    layer_axis(figure, max(first.value.size, second.value.size))
    figure.update_layout(legend={"title": {"text": f"band: {error_words(name)}", "side": "top", "font": {"size": 12}}})
    return titled(figure, compare_finding(name, one, other), theme)


def compared_curve(name: str, results: xr.DataTree) -> Estimate:
    """The estimate, refused where a run lacks it or it is no curve over layers."""
    if not has(results, name):
        raise RequestError(
            f"expected a result that both runs hold, got {name}, which the run of {results.attrs.get('model')} lacks: "
            "choose GROUP/VARIABLE of docs/schema.md, as in position/share_corrected"
        )
    dims = array(results, name).dims
    if len(dims) != 1 or dims[0] not in AXES:
        raise RequestError(
            f"expected one value per layer or block, got {name} with axes {', '.join(map(str, dims)) or 'none'}: "
            "choose another result"
        )
    return drawn_estimate(results, name)


def run_names(one: Run, other: Run) -> tuple[str, str]:
    """What two runs are called beside each other, never the same: by title, else by what tells them apart."""
    titles = one.title, other.title
    if titles[0] != titles[1] and not any(run.provenance.get("random_weights") for run in (one, other)):
        return titles
    random = [bool(run.provenance.get("random_weights")) for run in (one, other)]
    if random[0] != random[1]:
        kinds = ["random weights" if twin else "trained" for twin in random]
        return f"{titles[0]}, {kinds[0]}", f"{titles[1]}, {kinds[1]}"
    for setting, words in APART.items():
        values = [recorded(run, setting) for run in (one, other)]
        if values[0] != values[1]:
            shown = [(value[:12] or "none") for value in values]
            return f"{titles[0]}, {words} {shown[0]}", f"{titles[1]}, {words} {shown[1]}"
    folders = [run.folder.name if run.folder else "" for run in (one, other)]
    if folders[0] != folders[1]:
        return f"{titles[0]}, {folders[0] or 'first'}", f"{titles[1]}, {folders[1] or 'second'}"
    return f"{titles[0]}, first", f"{titles[1]}, second"


def told_apart(one: Run, other: Run) -> tuple[str, str]:
    """In brackets what tells each of two runs of one title apart; nothing where titles differ or nothing tells."""
    first, second = (name.removeprefix(one.title).removeprefix(", ") for name in run_names(one, other))
    return ("", "") if one.title != other.title or second == "second" else (f" ({first})", f" ({second})")


APART = {
    "model": "model",
    "corpus": "text",
    "seed": "seed",
    "contexts": "windows:",
    "length": "length",
    "outliers": "outliers:",
    "first": "position 0:",
    "dtype": "",
    "revision": "revision",
    "model_sha256": "weights",
    "corpus_sha256": "text",
}
"""Settings that tell two runs of one title apart, and how they are called, the clearest first."""


def run_name(name: str, number: int) -> str:
    """The name of a run, numbered, as plotly may show it."""
    return literal(f"{number}: {name}", 52)


def compare_finding(name: str, one: xr.DataTree, other: xr.DataTree) -> str:
    """In how many layers the two runs differ, the false discovery rate held at 5 %."""
    first, second = compared_curve(name, one), compared_curve(name, other)
    what, count = label_of(name), first.value.size
    if count != second.value.size:
        return f"Runs of different depth, not compared: {short(what)}"
    difference, error, apart = differences(name, one, other)
    rests_on = min(first.draws, second.draws)
    if not np.isfinite(difference + half_width(rests_on) * error).any():
        return f"Whether the {short(what)} differs is {NOT_ESTIMABLE}"
    if not apart.any():
        return f"No significant difference in any {first.axis}: {short(what)}"
    return f"The {short(what)} differs in {counted(apart, first.axis)}"


def short(label: str) -> str:
    """A label that leaves a title room for its finding."""
    return label if len(label.split()) <= MOST else f"{' '.join(label.split()[:MOST])} …"


MOST = 8
"""Words of a label in a title."""


def compare_detail(name: str, one: xr.DataTree, other: xr.DataTree) -> str:
    """By how much the runs differ where most, or what difference is possible; empty where that is not known."""
    first, second = compared_curve(name, one), compared_curve(name, other)
    count = first.value.size
    if count != second.value.size:
        return ""
    difference, error, apart = differences(name, one, other)
    rests_on = min(first.draws, second.draws)
    if not np.isfinite(difference + half_width(rests_on) * error).any():
        return ""
    points = " percentage points" if row_of(name).share else ""
    if not apart.any():
        room = number(float(np.nanmax(np.abs(difference) + half_width(rests_on, 1 - (1 - LEVEL) / count) * error)))
        return f"A difference of up to {room}{points} is possible"
    best = most_apart(difference, apart)
    size = quoted(float(abs(difference[best])), float(half_width(rests_on) * error[best])) + points
    second_run = f"the second run{told_apart(Run(one), Run(other))[1]}"
    return f"{'Higher' if difference[best] > 0 else 'Lower'} in {second_run} by {size} ({first.axis} {best})"


def most_apart(difference: Layers, apart: Bool[np.ndarray, " layer"]) -> int:
    """The row in which the runs differ most, of those in which they differ significantly if there are any."""
    size = np.nan_to_num(np.abs(difference))
    return int(np.where(apart, size, -1).argmax() if apart.any() else size.argmax())


def differences(name: str, one: xr.DataTree, other: xr.DataTree) -> tuple[Layers, Layers, Bool[np.ndarray, " layer"]]:
    """Second run − first with its standard error, as drawn, and where `compare` finds a difference."""
    runs = Run(one), Run(other)
    group, _, result = name.partition("/")
    found, _ = compared_group(*runs, group, paired=same_groups(*runs))
    if f"{result}_difference" not in found:
        unknown = np.full(array(one, name).size, np.nan)
        return unknown, unknown, np.zeros(unknown.size, dtype=bool)
    gap, error = (scale_of(name) * found[f"{result}_difference{end}"].values.astype(float) for end in ("", "_se"))
    return gap, error, found[f"{result}_differs"].values

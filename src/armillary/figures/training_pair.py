"""Two training runs in one figure: losses, exact matches and geometry against step, each run as long as it is."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.comparison import run_name, run_names
from armillary.figures.kit.colours import RUN_1, RUN_2
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import axis_label, drawn
from armillary.figures.kit.words import NOT_ESTIMABLE, error_words, number, quoted
from armillary.figures.simulation.lines import Values, banded, line
from armillary.figures.training import ACCURACY, CURVES, KEPT, LOSS, SCALE, TRAINED, means, steps_of, validated
from armillary.results.reading import array, has, label_of, numbers
from armillary.results.store import Run

Runs = tuple[xr.DataTree, xr.DataTree]


class Pair(NamedTuple):
    """A figure of two runs: what both must hold, its finding in words, its picture, and how to read it."""

    name: str
    needs: tuple[str, ...]
    finding: Callable[[Runs], str]
    draw: Callable[[Runs], go.Figure]
    text: str


def named(runs: Runs) -> list[tuple[xr.DataTree, str, str]]:
    """Each run with its name and its colour."""
    names = [run_name(name, place) for place, name in enumerate(run_names(*map(Run, runs)), 1)]
    return list(zip(runs, names, (RUN_1, RUN_2), strict=True))


def losses(runs: Runs) -> go.Figure:
    """Validation losses with their bands; training losses dotted."""
    figure = panels(height=420)
    for run, name, colour in named(runs):
        values = numbers(run, LOSS)
        known = np.isfinite(values)
        fitted = line(steps_of(run, LOSS)[known], values[known], f"{name}, {label_of(LOSS)}", colour, "dot")
        figure.add_trace(fitted.update(showlegend=False))
        figure.add_traces(banded(*validated(run), name, colour))
    return axes(figure, "step", "loss, nats", rangemode="tozero")


def loss_ends(runs: Runs) -> list[tuple[float, float]]:
    """The last validation loss of each run and half the width of its interval; empty where one has none."""
    found = [validated(run)[1] for run in runs]
    if not all(one.value.size for one in found):
        return []
    return [(float(one.value[-1]), float(one.margin()[-1])) for one in found]


def losses_apart(runs: Runs) -> bool | None:
    """Whether the last validation losses differ significantly; None where that is not estimable."""
    ends = loss_ends(runs)
    if not ends or not np.isfinite(ends).all():
        return None
    return bool(abs(ends[0][0] - ends[1][0]) > np.hypot(ends[0][1], ends[1][1]))


def losses_finding(runs: Runs) -> str:
    """What the validation losses end at, and whether they differ."""
    ends, apart = loss_ends(runs), losses_apart(runs)
    if not ends:
        return f"The validation loss of one run is {NOT_ESTIMABLE}"
    first, second = (quoted(*end) for end in ends)
    if apart is None:
        return f"Validation losses end at {first} and {second} nats"
    if not apart:
        return f"Validation losses do not differ significantly at the end: {first} and {second} nats"
    side = "lower" if ends[1][0] < ends[0][0] else "higher"
    return f"The validation loss of the second run ends {side}: {second} against {first} nats"


def matches(run: xr.DataTree, *, inside: bool) -> tuple[Values, Values] | None:
    """Steps and exact match in per cent, mean over the trained lengths or over the others; None if there are none."""
    at = array(run, TRAINED).values.astype(bool) == inside
    if not at.any():
        return None
    values = 100 * numbers(run, ACCURACY)[:, at].mean(axis=1)
    known = np.isfinite(values)
    return steps_of(run, ACCURACY)[known], values[known]


def accuracies(runs: Runs) -> go.Figure:
    """Exact match of both runs: solid inside the trained lengths, dashed outside."""
    figure = panels(height=420)
    for run, name, colour in named(runs):
        for inside, dash in ((True, "solid"), (False, "dash")):
            found = matches(run, inside=inside)
            if found is not None:
                trace = line(*found, name if inside else f"{name}, other lengths", colour, dash)
                figure.add_trace(trace.update(showlegend=inside))
    return axes(figure, "step", axis_label(ACCURACY), range=[-3, 103])


def accuracies_finding(runs: Runs) -> str:
    """What both runs end at inside their trained lengths."""
    found = [matches(run, inside=True) for run in runs]
    ends = [one[1][-1] for one in found if one is not None and one[1].size]
    if len(ends) < len(runs):
        return f"Exact match of one run is {NOT_ESTIMABLE}"
    return f"Exact match inside the trained lengths ends at {number(float(ends[0]))} and {number(float(ends[1]))} %"


def mean_of(run: xr.DataTree, path: str) -> Values:
    """A measure's mean over heads or layers at every step."""
    return means(drawn(run, path).reshape(steps_of(run, path).size, -1))


def geometries(runs: Runs) -> go.Figure:
    """Six measures against step, the mean over heads or layers of each run."""
    figure = panels(3, 2, tuple(map(axis_label, CURVES)), height=760)
    for place, path in enumerate(CURVES):
        row, column = place // 2 + 1, place % 2 + 1
        for run, name, colour in named(runs):
            trace = line(steps_of(run, path), mean_of(run, path), name, colour)
            figure.add_trace(trace.update(showlegend=place == 0), row=row, col=column)
    return axes(figure, "step", "")


def geometries_finding(runs: Runs) -> str:
    """What the scale of W_QK ends at in both."""
    ends = [float(mean_of(run, SCALE)[-1]) for run in runs]
    if not np.isfinite(ends).all():
        return f"The scale of W_QK in one run is {NOT_ESTIMABLE}"
    return f"The mean scale of W_QK ends at {number(ends[0])} in the first run and at {number(ends[1])} in the second"


PAIRS = (
    Pair(
        "training-loss",
        (LOSS, KEPT),
        losses_finding,
        losses,
        f"Validation loss of both runs; dotted: training loss. Band: {error_words(KEPT)}.",
    ),
    Pair(
        "training-accuracy",
        (ACCURACY, TRAINED),
        accuracies_finding,
        accuracies,
        "Problems whose whole answer is right, mean over the trained lengths; dashed: over the other lengths tested.",
    ),
    Pair(
        "training-geometry",
        CURVES,
        geometries_finding,
        geometries,
        "The geometry while the models learn, mean over heads or layers, each run on its own fixed windows, plug-in.",
    ),
)


def pairs(one: xr.DataTree, other: xr.DataTree) -> list[Pair]:
    """The figures that both runs hold results for."""
    return [pair for pair in PAIRS if all(has(run, path) for run in (one, other) for path in pair.needs)]

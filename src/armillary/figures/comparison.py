"""The same curve of two runs in one figure, and in words where they differ."""

import textwrap
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Bool, Float

from armillary.errors import RequestError
from armillary.figures.kit.colours import RUN_1, RUN_2
from armillary.figures.kit.curves import draw_estimate, layer_axis
from armillary.figures.kit.style import axes, literal, panels
from armillary.figures.kit.units import axis_label, drawn_estimate, scale_of
from armillary.figures.kit.words import NOT_ESTIMABLE, counted, error_words, largest, number, quoted
from armillary.measures.errors.jackknife import half_width
from armillary.results.comparing import compared_group
from armillary.results.reading import LEVEL, Estimate, array, has, label_of, row_of
from armillary.results.store import Run
from armillary.results.two_runs import recorded, same_groups

Layers = Float[np.ndarray, " layer"]
AXES = ("layer", "block")
LABEL_LETTERS = 36  # a line beside an axis is then shorter than the figure is high


@dataclass(frozen=True)
class Compared:
    """One result of two runs as it is drawn: both curves, and second − first where `compare` has it, NaN elsewhere."""

    name: str
    first: Estimate
    second: Estimate
    gap: Layers
    error: Layers
    apart: Bool[np.ndarray, " layer"]

    @property
    def count(self) -> int:
        """How many layers or blocks the first run has."""
        return self.first.value.size

    @property
    def comparable(self) -> bool:
        """Whether the layers of one run meet those of the other."""
        return self.count == self.second.value.size

    @property
    def width(self) -> float:
        """Half the width of the 95 % interval of one layer, in standard errors."""
        return float(half_width(min(self.first.draws, self.second.draws)))

    @property
    def estimable(self) -> bool:
        """Whether some difference has an interval."""
        return bool(np.isfinite(self.gap + self.width * self.error).any())

    @cached_property
    def possible(self) -> Layers:
        """How far the runs may be apart in each layer, all layers jointly."""
        draws = min(self.first.draws, self.second.draws)
        return np.abs(self.gap) + half_width(draws, 1 - (1 - LEVEL) / self.count) * self.error

    @property
    def row(self) -> int:
        """The layer that is spoken of: of the significant differences the largest, else the largest possible one."""
        return largest(np.abs(self.gap), self.apart) if self.apart.any() else largest(self.possible)


def compared_result(name: str, one: xr.DataTree, other: xr.DataTree, group: xr.Dataset | None = None) -> Compared:
    """A result per layer or block, "position/share_corrected", of two runs; `group` is its part of their comparison."""
    first, second = compared_curve(name, one), compared_curve(name, other)
    if group is None:
        runs = Run(one), Run(other)
        group, _ = compared_group(*runs, name.partition("/")[0], paired=same_groups(*runs))
    result = f"{name.partition('/')[2]}_difference"
    if result not in group:
        unknown = np.full(first.value.size, np.nan)
        return Compared(name, first, second, unknown, unknown, np.zeros(unknown.size, dtype=bool))
    gap, error = (scale_of(name) * group[result + end].values.astype(float) for end in ("", "_se"))
    return Compared(name, first, second, gap, error, group[result.replace("_difference", "_differs")].values)


def compared_curves(both: Compared, names: tuple[str, str]) -> go.Figure:
    """Both curves with their error bands, under the names of the runs.

    Runs of different depth are drawn layer by layer, each as long as it is.
    """
    figure = panels()
    draw_estimate(figure, both.first, run_name(names[0], 1), RUN_1)
    draw_estimate(figure, both.second, run_name(names[1], 2), RUN_2)
    lines = textwrap.wrap(axis_label(both.name), LABEL_LETTERS)
    axes(figure, both.first.axis, "<br>".join(literal(line) for line in lines))
    layer_axis(figure, max(both.count, both.second.value.size))
    band = f"band: {error_words(both.name)}"
    return figure.update_layout(legend={"title": {"text": band, "side": "top", "font": {"size": 12}}})


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
    titles = one.subject, other.subject
    random = [bool(run.provenance.get("random_weights")) for run in (one, other)]
    if random[0] != random[1] or (random[0] and titles[0] != titles[1]):
        kinds = ["random weights" if twin else "trained" for twin in random]
        return f"{titles[0]}, {kinds[0]}", f"{titles[1]}, {kinds[1]}"
    if titles[0] != titles[1]:
        return titles
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
    first, second = (name.removeprefix(one.subject).removeprefix(", ") for name in run_names(one, other))
    return ("", "") if one.subject != other.subject or second == "second" else (f" ({first})", f" ({second})")


APART = {
    "model": "model",
    "corpus": "text",
    "seed": "seed",
    "random_weights": "random weights,",
    "contexts": "windows:",
    "length": "length",
    "outliers": "outliers:",
    "first": "position 0:",
    "dtype": "dtype",
    "revision": "revision",
    "model_sha256": "weights",
    "corpus_sha256": "text",
}
"""Settings that tell two runs of one title apart, and how they are called, the clearest first."""


def run_name(name: str, number: int) -> str:
    """The name of a run, numbered, as plotly may show it."""
    return literal(f"{number}: {name}", 52)


def compare_finding(both: Compared) -> str:
    """In how many layers the two runs differ, the false discovery rate held at 5 %."""
    what = label_of(both.name)
    if not both.comparable:
        return f"Runs of different depth, not compared: {short(what)}"
    if not both.estimable:
        return f"Whether the {short(what)} differs is {NOT_ESTIMABLE}"
    if not both.apart.any():
        return f"No significant difference in any {both.first.axis}: {short(what)}"
    return f"The {short(what)} differs in {counted(both.apart, both.first.axis)}"


def short(label: str) -> str:
    """A label that leaves a title room for its finding."""
    return label if len(label.split()) <= MOST else f"{' '.join(label.split()[:MOST])} …"


MOST = 8
"""Words of a label in a title."""


def compare_detail(both: Compared, told: tuple[str, str] = ("", "")) -> str:
    """By how much the runs differ where most, or what difference is possible; empty where that is not known.

    `told` is what tells the runs apart, in brackets.
    """
    if not (both.comparable and both.estimable):
        return ""
    points, row = " percentage points" if row_of(both.name).share else "", both.row
    where = f"({both.first.axis} {row})"
    if not both.apart.any():
        return f"A difference of up to {number(float(both.possible[row]))}{points} is possible {where}"
    size = quoted(float(abs(both.gap[row])), float(both.width * both.error[row])) + points
    return f"{'Higher' if both.gap[row] > 0 else 'Lower'} in the second run{told[1]} by {size} {where}"

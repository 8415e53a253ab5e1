"""What the report of two runs says: every result with an error, one curve per run, and where the two differ."""

import re
from collections.abc import Iterator

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures import ERRORS, SECTIONS
from armillary.figures.comparison import (
    AXES,
    Compared,
    compare_detail,
    compare_finding,
    compared_curves,
    compared_result,
    run_names,
    told_apart,
)
from armillary.figures.heads.kinds_pair import HOW, NAME, TEXT, kinds_detail, kinds_figure
from armillary.figures.kit.style import HEIGHT
from armillary.figures.kit.words import counted, largest, number
from armillary.figures.training_pair import Pair, Runs, losses_apart, pairs
from armillary.reporting.content import command, missing
from armillary.reporting.kinds import NO, NOT_MEASURED, UNCLEAR, YES, Answer, Curve, Plot, Report
from armillary.reporting.plots import plotted
from armillary.reporting.questions.asking import by_most
from armillary.results.comparing import compare
from armillary.results.kinds import changed_kinds, surely_changed
from armillary.results.reading import row_of
from armillary.results.store import Run
from armillary.results.two_runs import HEADLINES, both_hold, shared_documents

ENDING, LOSS = "_difference", "training-loss"

OF_SECTION = {"attention_variance": "states", "norms": "states", "mixing": "heads"}
"""Groups that stand in a section of another name."""

SETTINGS = {"model_sha256": "weights", "corpus_sha256": "text", "random_weights": "random weights",
            "per_document": "windows per document", "first": "position 0"}  # fmt: skip
"""Settings whose names in the provenance are not plain words."""

MARGIN = (
    "second run − first, paired by groups of documents where both runs hold the same ones; significant: false "
    "discovery rate 5 % over the layers; ±: 95 % interval of one layer"
)


def comparison_report(one: Run, other: Run) -> Report:
    """The report of two runs; every result along layers or blocks that has an error in both."""
    compared = compare(one, other)
    paths = sorted(compared_paths(compared), key=lambda path: order_of(section_of(path)))
    both = one.results, other.results
    curves = {path: compared_result(path, *both, group_of(compared, path)) for path in paths}
    called, told = run_names(one, other), told_apart(one, other)
    plots = {path: compared_plot(curve, called, told) for path, curve in curves.items()}
    trained = [trained_plot(pair, both) for pair in pairs(*both)]
    kinds = compared["kinds"].to_dataset()
    of_heads = [kinds_plot(kinds, called)] if kinds.data_vars else []
    names = [f"{place}: {name}" for place, name in enumerate(called, 1)]
    lacking = {name: missing(run.results) for name, run in zip(names, (one, other), strict=True)}
    answers = [difference(curves[path], plots[path], told) for path in HEADLINES if path in plots]
    angles = angle_answer(one, other, compared)
    return Report(
        title=page_title(one, other),
        about=f"1: {called[0]}; 2: {called[1]}. They differ in {settings_in_words(str(compared.attrs['differ_in']))}",
        answers=answers
        + angles
        + [kinds_answer(plot, kinds) for plot in of_heads]
        + [loss_answer(plot, both) for plot in trained if plot.name == LOSS],
        lead=[plots[path].name for path in HEADLINES if path in plots] + [plot.name for plot in (*of_heads, *trained)],
        note=" ".join([ERRORS, shared_documents(one, other), *small_curves(answers, angles)]),
        missing=[f"{name}. {sentence}" for name, sentences in lacking.items() for sentence in sentences],
        plots=sorted((*plots.values(), *of_heads, *trained), key=lambda plot: order_of(plot.section)),
        sources=dict(zip(names, (one.provenance, other.provenance), strict=True)),
        command=command(one, other),
    )


def small_curves(answers: list[Answer], angles: list[Answer]) -> Iterator[str]:
    """What the curves of the cards are, as far as there are any."""
    if any(answer.curve for answer in answers):
        yield "Small curves: solid the second run, dashed the first."
    if any(answer.curve for answer in angles):
        yield "Small curve of angles: dashed the 5 % point of random subspaces."


def page_title(one: Run, other: Run) -> str:
    """Both runs by name; what they have in common is said once."""
    first, second = run_names(one, other)
    if one.subject == other.subject:
        return f"{one.subject}: {first.removeprefix(one.subject)[2:]} and {second.removeprefix(one.subject)[2:]}"
    return f"{first}, and {second}"


def compared_paths(compared: xr.DataTree) -> list[str]:
    """The results that `compare` gives a difference of, one number per layer or block."""
    return [
        f"{group}/{str(name).removesuffix(ENDING)}"
        for group, node in compared.children.items()
        for name, values in node.data_vars.items()
        if str(name).endswith(ENDING) and values.ndim == 1 and values.dims[0] in AXES
    ]


def section_of(path: str) -> str:
    """The section of a result, by the names that the report of one run has."""
    group = path.partition("/")[0]
    return OF_SECTION.get(group, group)


def order_of(section: str) -> int:
    """The place of a section; those that are not named come last."""
    return SECTIONS.index(section) if section in SECTIONS else len(SECTIONS)


def settings_in_words(text: str) -> str:
    """What differs between the runs, without names that only the files know."""
    for name, words in SETTINGS.items():
        text = re.sub(rf"(^|, ){name} \(", rf"\g<1>{words} (", text)
    return text


def anchor(path: str) -> str:
    """A result's name as an address within the page."""
    return path.replace("/", "-").replace("_", "-")


def group_of(compared: xr.DataTree, path: str) -> xr.Dataset:
    """The part of a comparison that holds a result."""
    return compared.children[path.partition("/")[0]].to_dataset()


def compared_plot(both: Compared, called: tuple[str, str], told: tuple[str, str]) -> Plot:
    """Both runs' curve of one result; its meaning is the schema's."""
    path = both.name

    def make() -> tuple[str, go.Figure, str]:
        drawn = compared_curves(both, called).update_layout(height=HEIGHT, margin={"t": 24})
        return compare_finding(both), drawn, compare_detail(both, told)

    meaning = row_of(path).text
    text = f"Both runs: {meaning}." if meaning else "Both runs."
    return plotted(anchor(path), section_of(path), make, (text, MARGIN, f"/{path} of the two runs"))


def trained_plot(pair: Pair, runs: Runs) -> Plot:
    """Curves over steps of two training runs."""
    words = (pair.text, "each run at its own steps", ", ".join(f"/{path}" for path in pair.needs))
    return plotted(pair.name, "training", lambda: (pair.finding(runs), pair.draw(runs), ""), words)


def kinds_plot(kinds: xr.Dataset, called: tuple[str, str]) -> Plot:
    """The heads that have a kind in one of the runs, and the scores that decide it."""
    words = (TEXT, HOW, "/kinds of the comparison")
    return plotted(
        NAME, "heads", lambda: (changed_kinds(kinds), kinds_figure(kinds, called), kinds_detail(kinds)), words
    )


def kinds_answer(plot: Plot, kinds: xr.Dataset) -> Answer:
    """Whether heads are of another kind, at least one of them by a score that differs significantly."""
    question, changed = "Do heads change kind?", kinds.changed.values
    if plot.figure is None:
        return Answer(question, NOT_MEASURED, plot.finding, plot.name)
    verdict = NO if not changed.any() else YES if (changed & kinds.differs.values).any() else UNCLEAR
    most = f"; {plot.detail[0].lower()}{plot.detail[1:]}" if plot.detail else ""
    return Answer(question, verdict, surely_changed(kinds) + most, plot.name)


def loss_answer(plot: Plot, runs: Runs) -> Answer:
    """Whether two training runs end at different losses."""
    apart = losses_apart(runs)
    verdict = UNCLEAR if apart is None else YES if apart else NO
    return Answer("Does the validation loss differ?", verdict, plot.finding, plot.name)


def difference(both: Compared, plot: Plot, told: tuple[str, str]) -> Answer:
    """Whether the two runs differ in a result, by how much where most, and both curves."""
    question, axis = HEADLINES[both.name], both.first.axis
    if plot.figure is None:
        return Answer(question, NOT_MEASURED, plot.finding, plot.name)
    if not both.comparable:
        return Answer(question, UNCLEAR, plot.finding, plot.name)
    curve = Curve(both.second.value, both.first.value, axis, both.row)
    if not plot.detail:
        return Answer(question, UNCLEAR, plot.finding, plot.name, curve)
    where = f"; significant in {counted(both.apart, axis)}" if both.apart.any() else ""
    return Answer(question, YES if both.apart.any() else UNCLEAR, f"{plot.detail}{where}", plot.name, curve)


def angle_answer(one: Run, other: Run, compared: xr.DataTree) -> list[Answer]:
    """Whether the positional bases point the same way, where both runs hold one."""
    if not both_hold(one, other, "residual", "position"):
        return []
    return [angles_said(compared.children["angles"].to_dataset())]


def angles_said(angles: xr.Dataset) -> Answer:
    """The smallest principal angle of each layer, beside the 5 % point of random subspaces."""
    question = "Are the positional bases aligned?"
    smallest = np.degrees(angles.angle.values[:, 0]) if "angle" in angles else np.full(1, np.nan)
    if not np.isfinite(smallest).any():
        return Answer(question, UNCLEAR, "Not estimable: there are no principal angles between them", None)
    null = np.degrees(angles.angle_null.values[:, 0])
    near = smallest < null
    best = largest(-smallest)
    angle = f"{number(float(smallest[best]))}° (layer {best})"
    said = f"Closer than random subspaces in {counted(near)}; smallest angle {angle}"
    return Answer(question, by_most(near, np.isfinite(smallest)), said, None, Curve(smallest, null, at=best))

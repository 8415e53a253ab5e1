"""What the report of two runs says: every result with an error, one curve per run, and where the two differ."""

import re

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures import ERRORS, SECTIONS
from armillary.figures.comparison import AXES, compare_figure, compare_finding
from armillary.figures.kit.style import HEIGHT
from armillary.figures.kit.words import counted, span
from armillary.figures.training_pair import Pair, pairs
from armillary.reporting.content import command, missing
from armillary.reporting.kinds import Answer, Plot, Report
from armillary.reporting.plots import plotted
from armillary.results.comparing import compare
from armillary.results.reading import label_of, row_of
from armillary.results.store import Run
from armillary.results.two_runs import both_hold, shared_documents

FIRST = (
    "position/share_corrected",
    "position/rank_stable_corrected",
    "context/silhouette",
    "norms/norm",
    "mixing/similarity_output",
)
"""The results that the first screen asks about, as far as both runs hold them."""

TRAINED = {
    "training-loss": "Which run ends with the lower loss?",
    "training-accuracy": "Which run adds better?",
    "training-geometry": "Does the same geometry form?",
}
"""What the first screen asks about two training runs."""

ENDING = "_difference"

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
    plots = {path: compared_plot(path, one.results, other.results) for path in paths}
    trained = [trained_plot(pair, one.results, other.results) for pair in pairs(one.results, other.results)]
    names = [f"{place}: {run.title}" for place, run in enumerate((one, other), 1)]
    lacking = {name: missing(run.results) for name, run in zip(names, (one, other), strict=True)}
    return Report(
        title=f"{one.title}, and {other.title}",
        about=f"The two differ in {settings_in_words(str(compared.attrs['differ_in']))}",
        answers=[difference(path, plots[path]) for path in FIRST if path in plots]
        + angle_answer(one, other, compared)
        + [Answer(TRAINED[plot.name], plot.finding, plot.name) for plot in trained],
        note=f"{ERRORS} {shared_documents(one, other)}",
        missing=[f"{name}. {sentence}" for name, sentences in lacking.items() for sentence in sentences],
        plots=[*plots.values(), *trained],
        sources=dict(zip(names, (one.provenance, other.provenance), strict=True)),
        command=command(one, other),
    )


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


def compared_plot(path: str, one: xr.DataTree, other: xr.DataTree) -> Plot:
    """Both runs' curve of one result; its meaning is the schema's."""

    def make() -> tuple[str, go.Figure]:
        drawn = compare_figure(path, one, other).update_layout(title=None, height=HEIGHT, margin={"t": 24})
        return compare_finding(path, one, other), drawn

    meaning = row_of(path).text
    text = f"Both runs: {meaning}." if meaning else "Both runs."
    return plotted(anchor(path), section_of(path), make, (text, MARGIN, f"/{path} of the two runs"))


def trained_plot(pair: Pair, one: xr.DataTree, other: xr.DataTree) -> Plot:
    """Curves over steps of two training runs."""
    words = (pair.text, "each run at its own steps", ", ".join(f"/{path}" for path in pair.needs))
    return plotted(pair.name, "training", lambda: (pair.finding((one, other)), pair.draw((one, other))), words)


def difference(path: str, plot: Plot) -> Answer:
    """Whether the two runs differ in a result."""
    return Answer(f"Does the {label_of(path)} differ?", plot.finding, plot.name)


def angle_answer(one: Run, other: Run, compared: xr.DataTree) -> list[Answer]:
    """Whether the positional bases point the same way, where both runs hold one."""
    if not both_hold(one, other, "residual", "position"):
        return []
    return [Answer("Are the positional bases aligned?", angle_sentence(compared.children["angles"].to_dataset()), None)]


def angle_sentence(angles: xr.Dataset) -> str:
    """The smallest principal angle of each layer, beside the 5 % point of random subspaces."""
    smallest = np.degrees(angles.angle.values[:, 0]) if "angle" in angles else np.full(1, np.nan)
    if not np.isfinite(smallest).any():
        return "Not estimable: there are no principal angles between the two positional bases"
    null = np.degrees(angles.angle_null.values[:, 0])
    return (
        f"Closer than random subspaces (5 % level) in {counted(smallest < null)}: smallest principal angle of their "
        f"{angles.attrs['between']} {span(smallest)} degrees, null {span(null)}"
    )

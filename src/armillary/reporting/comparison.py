"""What the report of two runs says: every result with an error, one curve per run, and where the two differ."""

import re

import numpy as np
import xarray as xr

from armillary.figures import ERRORS, SECTIONS
from armillary.figures.comparison import compare_figure, compare_finding
from armillary.figures.kit.style import HEIGHT
from armillary.figures.kit.words import counted, span
from armillary.reporting.content import command, run_title
from armillary.reporting.kinds import Answer, Plot, Report
from armillary.results.comparing import compare
from armillary.results.schema import GROUPS
from armillary.results.store import Run
from armillary.results.two_runs import shared_documents

QUESTIONS = {
    "position/share_corrected": "Is there as much position in both?",
    "position/rank_stable_corrected": "Is the position basis of the same rank?",
    "context/similarity_within": "Are windows of one document as much alike?",
    "context/incoherence_mean": "Are position and context as orthogonal?",
    "norms/norm": "Are the states as long?",
}
"""What the first screen asks of two runs."""

ENDING = "_difference"

OF_SECTION = {"attention_variance": "states", "norms": "states", "mixing": "heads"}
"""Groups that stand in a section of another name."""

SETTINGS = {"model_sha256": "weights", "corpus_sha256": "text", "random_weights": "random weights",
            "per_document": "windows per document", "first": "position 0"}  # fmt: skip
"""Settings whose names in the provenance are not plain words."""


def comparison_report(one: Run, other: Run) -> Report:
    """The report of two runs; every result along layers or blocks that has an error in both."""
    found = compare(one, other)
    paths = sorted(compared_paths(found), key=lambda path: order_of(section_of(path)))
    trees = (one.results, other.results)
    names = [f"{place}: {run_title(run)}" for place, run in enumerate((one, other), 1)]
    asked = [path for path in QUESTIONS if path in paths]
    return Report(
        title=f"{run_title(one)}, and {run_title(other)}",
        about=f"The two differ in {settings_in_words(str(found.attrs['differ_in']))}",
        answers=[Answer(QUESTIONS[path], compare_finding(path, *trees), anchor(path)) for path in asked]
        + [Answer("Do the position bases lie in the same directions?", angle_sentence(found), None)],
        note=f"{ERRORS} {shared_documents(one, other)}",
        plots=[compared_plot(path, *trees) for path in paths],
        sources=dict(zip(names, (one.provenance, other.provenance), strict=True)),
        command=command(one, other),
    )


def compared_paths(found: xr.DataTree) -> list[str]:
    """The results that `compare` gives a difference of, one number per layer or block."""
    return [
        f"{group}/{str(name).removesuffix(ENDING)}"
        for group, node in found.children.items()
        for name, values in node.data_vars.items()
        if str(name).endswith(ENDING) and values.ndim == 1
    ]


def section_of(path: str) -> str:
    """The section of a result, by the names that the report of one run has."""
    group = path.partition("/")[0]
    return OF_SECTION.get(group, group)


def order_of(section: str) -> int:
    """The place of a section; those that are not named come last."""
    return SECTIONS.index(section) if section in SECTIONS else len(SECTIONS)


def settings_in_words(told: str) -> str:
    """What differs between the runs, without names that only the files know."""
    for name, words in SETTINGS.items():
        told = re.sub(rf"(^|, ){name} \(", rf"\g<1>{words} (", told)
    return told


def anchor(path: str) -> str:
    """A result's name as an address within the page."""
    return path.replace("/", "-").replace("_", "-")


def compared_plot(path: str, one: xr.DataTree, other: xr.DataTree) -> Plot:
    """Both runs' curve of one result; its meaning is the schema's."""
    group, _, name = path.partition("/")
    drawn = compare_figure(path, one, other).update_layout(title=None, height=HEIGHT, margin={"t": 24})
    row = GROUPS[group].variables.get(name) if group in GROUPS else None
    meaning = f"Shown for both runs: {row.text}." if row else "Shown for both runs."
    return Plot(
        anchor(path),
        section_of(path),
        compare_finding(path, one, other),
        drawn,
        meaning,
        "second run minus first; margin √(m₁² + m₂²), m the half widths of the 95 % intervals that hold for all layers "
        "at once",
        f"/{path} of the two runs",
    )


def angle_sentence(found: xr.DataTree) -> str:
    """The smallest principal angle of each layer, beside the 5 % point of random directions."""
    node = found.children["angles"].to_dataset()
    angles = np.degrees(node.angle.values[:, 0]) if "angle" in node else np.full(1, np.nan)
    if not np.isfinite(angles).any():
        return "Not determined: there are no angles between the two position bases"
    null = np.degrees(node.angle_null.values[:, 0])
    told = f"The smallest angle between their {node.attrs['between']} is {span(angles)} degrees, over the layers"
    return f"{told}; random ones have less than {span(null)} in 1 of 20 cases; so do the two runs in " + counted(
        angles < null
    )

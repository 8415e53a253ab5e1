"""What the report of one run says: a plot for every figure of the registry that the run has results for."""

import shlex

import xarray as xr

from armillary.figures import ERRORS, Figure, available
from armillary.reporting.answers import answers
from armillary.reporting.kinds import Plot, Report
from armillary.results.store import Run


def run_report(run: Run) -> Report:
    """The report of one run, figures in the order of the registry."""
    title = run_title(run)
    return Report(
        title=title,
        about=reading(run),
        answers=answers(run.results),
        note=ERRORS,
        plots=[plotted(figure, run.results) for figure in available(run.results)],
        sources={title: run.provenance},
        command=command(run),
    )


def plotted(figure: Figure, results: xr.DataTree) -> Plot:
    """A figure of the registry, drawn."""
    drawn, finding = figure.draw(results), figure.finding(results)
    return Plot(figure.name, figure.section, finding, drawn, figure.text, figure.formula, figure.source)


def run_title(run: Run) -> str:
    """Model and text."""
    about = run.provenance
    return f"{about.get('model', 'a model')} on {about.get('corpus', 'a text')}"


def reading(run: Run) -> str:
    """What was read, as far as the run says."""
    about = run.provenance
    parts = [f"{about['contexts']} windows of {about['length']} tokens"] if {"contexts", "length"} <= set(about) else []
    parts += [f"errors over {about['groups']}"] if "groups" in about else []
    parts += ["position 0 left out"] if about.get("first") == "drop" else []
    return "; ".join(parts)


def command(*runs: Run) -> str:
    """The commands that make the page again: the surveys, where the command line made them, and the report."""
    surveys = [str(run.provenance.get("command", "")) for run in runs]
    made = [line for line in dict.fromkeys(surveys) if line.startswith("armillary survey ")]
    return "\n".join([*made, shlex.join(["armillary", "report", *(str(run.folder or "RUN") for run in runs)])])

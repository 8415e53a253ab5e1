"""What the report of one run says: a plot for every figure of the registry that the run has results for."""

import shlex
from itertools import groupby

import plotly.graph_objects as go
import xarray as xr

from armillary.figures import ERRORS, Figure, available
from armillary.reporting.answers import answers
from armillary.reporting.kinds import Plot, Report
from armillary.reporting.plots import plotted
from armillary.results.reading import why_no_error
from armillary.results.schema import GROUPS
from armillary.results.store import Run


def run_report(run: Run) -> Report:
    """The report of one run, figures in the order of the registry."""
    title = run_title(run)
    plots = [figure_plot(figure, run.results) for figure in available(run.results)]
    return Report(
        title=title,
        about=reading(run),
        answers=answers(run.results, plots),
        note=ERRORS,
        missing=missing(run.results),
        plots=plots,
        sources={title: run.provenance},
        command=command(run),
    )


def figure_plot(figure: Figure, results: xr.DataTree) -> Plot:
    """A figure of the registry, drawn."""

    def make() -> tuple[str, go.Figure]:
        return figure.finding(results), figure.draw(results)

    return plotted(figure.name, figure.section, make, (figure.text, figure.formula, figure.source))


def missing(results: xr.DataTree) -> list[str]:
    """What a run does not hold, one sentence for each command that adds it."""
    lacking = [name for name in GROUPS if name not in results.children]
    by_command = groupby(lacking, key=lambda name: GROUPS[name].command)
    return [
        f"Not in this run: {', '.join(f'/{name}' for name in names)}. `{line}` adds it." for line, names in by_command
    ]


def run_title(run: Run) -> str:
    """Model and text."""
    about = run.provenance
    return f"{about.get('model', 'a model')} on {about.get('corpus', 'a text')}"


def reading(run: Run) -> str:
    """What was read, as far as the run says."""
    about = run.provenance
    parts = [f"{about['contexts']} windows of {about['length']} tokens"] if {"contexts", "length"} <= set(about) else []
    parts += [f"standard errors by jackknife over {about['groups']}"] if "groups" in about else []
    parts += [reason] if (reason := why_no_error(run.results)) else []
    parts += ["position 0 left out"] if about.get("first") == "drop" else []
    return "; ".join(parts)


def command(*runs: Run) -> str:
    """The commands that make the page again: the surveys, where the command line made them, and the report."""
    surveys = [str(run.provenance.get("command", "")) for run in runs]
    made = [line for line in dict.fromkeys(surveys) if line.startswith("armillary survey ")]
    return "\n".join([*made, shlex.join(["armillary", "report", *(str(run.folder or "RUN") for run in runs)])])

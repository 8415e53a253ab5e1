"""What the report of one run says: a plot for every figure of the registry that the run has results for."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import plotly.graph_objects as go
import xarray as xr

from armillary.figures import ERRORS, Figure, available
from armillary.reporting.claims import claims_answer
from armillary.reporting.heads import heads_of
from armillary.reporting.kinds import Plot, Report
from armillary.reporting.numbers import layers_table
from armillary.reporting.plots import plotted
from armillary.reporting.questions import answers, shown_by_default
from armillary.results.reading import lacking, simulated, why_no_error
from armillary.results.schema import GROUPS
from armillary.results.schema.kinds import adding
from armillary.results.schema.naming import COMMAND as NAMING
from armillary.results.store import Run
from armillary.system.texts import numbered, shareable
from armillary.verdicts.labelled import verdicts_of

LETTERS = 100
"""How much of a followed text stands on the first screen."""


def run_report(run: Run) -> Report:
    """The report of one run, figures by section, those that answer a question first."""
    title = run.title
    plots = [figure_plot(figure, run.results) for figure in available(run.results)]
    claims = verdicts_of(run.results)
    return Report(
        title=title,
        about=reading(run),
        answers=[*answers(run.results, plots), *claims_answer(claims)],
        note=ERRORS,
        missing=missing(run.results),
        plots=plots,
        sources={title: run.provenance},
        command=command(run),
        claims=claims,
        lead=shown_by_default(plots),
        heads=heads_of(run.results),
        layers=layers_table(run.results),
    )


def figure_plot(figure: Figure, results: xr.DataTree) -> Plot:
    """A figure of the registry, drawn."""

    def make() -> tuple[str, go.Figure, str]:
        return figure.finding(results), figure.draw(results), figure.detail(results)

    return plotted(figure.name, figure.section, make, (figure.text, figure.formula, figure.source))


def missing(results: xr.DataTree) -> list[str]:
    """What a run does not hold, one sentence for each command that adds it."""
    return [
        f"Not in this run: {', '.join(f'/{name}' for name in names)}. {adding(line)}."
        for line, names in lacking(results).items()
    ]


def reading(run: Run) -> str:
    """What was read, as far as the run says."""
    about = run.provenance
    if simulated(run.results):
        return walked(about) if {"walks", "length", "width", "draws"} <= set(about) else ""
    known, parts = {"contexts", "length"} <= set(about), list[str]()
    parts += [f"{numbered(about['contexts'], 'window')} of {about['length']} tokens"] if known else []
    reason = why_no_error(run.results)
    parts += [reason or f"standard errors by jackknife over {about['groups']}"] if "groups" in about else []
    parts += ["position 0 left out"] if about.get("first") == "drop" else []
    parts += [f"followed text: ‘{text}’"] if (text := followed_text(run.results)) else []
    return "; ".join(parts)


def followed_text(results: xr.DataTree) -> str:
    """The text whose tokens were followed through the model, cut to a line."""
    text = str(results["travel"].attrs.get("source", "")) if "travel" in results.children else ""
    return text if len(text) <= LETTERS else f"{text[:LETTERS]} …"


def walked(about: Mapping[str, Any]) -> str:
    """What was simulated."""
    walks = f"{about['walks']} random walks of {about['length']} tokens of width {about['width']}"
    return f"{walks} for each of {about['draws']} draws of W_QK; standard errors over walks"


MAKING = ("armillary survey ", "armillary simulate ", "armillary train ")
"""Commands that make a run."""


def command(*runs: Run) -> str:
    """The commands that make the page again: what made the runs, where the command line did, and the report."""
    made = [line for run in runs for line in making(run)]
    return "\n".join([*dict.fromkeys(made), " ".join(["armillary report", *map(folder_of, runs)])])


def making(run: Run) -> Iterator[str]:
    """What made a run on the command line, and what added to it what that command does not."""
    first = str(run.provenance.get("command", ""))
    if not first.startswith(MAKING):
        return
    yield first
    added = [GROUPS[name].command for name in run.results.children if name in GROUPS]
    words = {"MODEL": quoted(str(run.provenance.get("model", "MODEL"))), "RUN": folder_of(run)}
    if "travel" in run.results.children and (text := str(run.results["travel"].attrs.get("source", ""))):
        words["TEXT"] = quoted(text)
    for line in dict.fromkeys(added):
        if "RUN" in line.split() and not (line == NAMING and "--heads" in first):  # such a survey names them itself
            yield " ".join(words.get(word, word) for word in line.split())


def folder_of(run: Run) -> str:
    """The folder of a run as the shell takes it."""
    return quoted(shareable(str(run.folder or "RUN")))


def quoted(path: str) -> str:
    """A path as the shell takes it; ~ stays what it means."""
    return f"~{shlex.quote(path[1:])}" if path.startswith("~/") else shlex.quote(path)

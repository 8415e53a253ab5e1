"""What a report consists of, before it is a page: answers, plots, provenance. All texts are plain, not markup."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import plotly.graph_objects as go


class Answer(NamedTuple):
    """One question of the first screen, what the run says to it, and the name of the plot that shows it."""

    question: str
    text: str
    plot: str | None


class Plot(NamedTuple):
    """One figure with the words around it; the picture has no title, `finding` is written above it."""

    name: str
    section: str
    finding: str
    figure: go.Figure
    text: str
    formula: str
    source: str


class Report(NamedTuple):
    """All that a page shows. `sources` has the provenance of each run by name, `command` makes the page again."""

    title: str
    about: str
    answers: list[Answer]
    note: str
    plots: list[Plot]
    sources: Mapping[str, Mapping[str, Any]]
    command: str

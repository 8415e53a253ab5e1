"""What a report consists of, before it is a page: answers, plots, provenance. All texts are plain, not markup."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from armillary.verdicts.claim import Verdict


class Answer(NamedTuple):
    """One question of the first screen, what the run says to it, and the name of the plot that shows it."""

    question: str
    text: str
    plot: str | None


class Plot(NamedTuple):
    """One figure with the words around it; the picture has no title, `finding` is written above it.

    A figure that failed has no picture, and `finding` says so.
    """

    name: str
    section: str
    finding: str
    figure: go.Figure | None
    text: str
    formula: str
    source: str


class Report(NamedTuple):
    """All that a page shows. `sources` has the provenance of each run by name, `command` makes the page again.

    `missing` says what the runs do not hold and which commands add it. `claims` are the verdicts that a run holds.
    """

    title: str
    about: str
    answers: Sequence[Answer]
    note: str
    missing: Sequence[str]
    plots: Sequence[Plot]
    sources: Mapping[str, Mapping[str, Any]]
    command: str
    claims: Sequence[Verdict] = ()

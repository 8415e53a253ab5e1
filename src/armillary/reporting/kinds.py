"""What a report consists of, before it is a page: answers, plots, provenance. All texts are plain, not markup."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from armillary.verdicts.claim import Verdict

YES, NO, UNCLEAR, NOT_MEASURED = "Yes", "No", "Unclear", "Not measured"
"""The verdicts of the first screen. Unclear: the intervals or nulls of this run allow neither yes nor no."""


class Curve(NamedTuple):
    """What a card draws as a small line: a value per layer, block or step, and its null where there is one.

    A dot stands at the row that the card's sentence speaks of: `at`, else the largest value.
    """

    values: Float[np.ndarray, " layer"]
    null: Float[np.ndarray, " layer"] | None = None
    axis: str = "layer"
    at: int | None = None

    @property
    def dot(self) -> int:
        """The row that is marked."""
        return int(np.nanargmax(self.values)) if self.at is None else self.at


class Answer(NamedTuple):
    """One question of the first screen: the verdict, one sentence, the plot or section that shows it, a small curve."""

    question: str
    verdict: str
    text: str
    plot: str | None
    curve: Curve | None = None


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
    detail: str = ""


class Heads(NamedTuple):
    """All that a run knows of each head: names, kinds in words, what was measured, and the values in words.

    `rows` are the section and the label of each line of a card, `values` a text for each head and line. `maps` are mean
    attention maps, a query bin after the other, 0 to 255 by square root; `bins` is how many there are to a side.
    """

    names: Sequence[str]
    kinds: Sequence[str]
    rows: Sequence[tuple[str, str]]
    values: Sequence[Sequence[str]]
    maps: bytes = b""
    bins: int = 0


class Report(NamedTuple):
    """All that a page shows. `sources` has the provenance of each run by name, `command` makes the page again.

    `missing` says what the runs do not hold and which commands add it. `claims` are the verdicts that a run holds,
    `heads` all that it knows of each head, `layers` its main numbers by layer as a table in HTML. `lead` names the
    plots that are shown unfolded, in their order.
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
    heads: Heads | None = None
    layers: str = ""
    lead: Sequence[str] = ()

"""What a figure is: its name, the results that it needs, its finding in words, and how it is drawn."""

from collections.abc import Callable
from dataclasses import dataclass

import plotly.graph_objects as go
import xarray as xr

SECTIONS = (
    *("position", "context", "states", "heads", "depth", "weights", "localization", "sphere", "gaussian"),
    "training",
)
"""The order in which a reader asks; sections that are not named here come after these."""


@dataclass(frozen=True)
class Figure:
    """One figure of a run. It is offered when every result of `needs` is there; more is drawn where there is more.

    `finding` is its title: what this run shows in at most 15 words, with one number and its interval, and no more than
    interval and null allow. Finding, text, formula and source are plain text, not markup: whoever puts them into a page
    escapes them. `draw` gives the picture without its title. `detail` is what the caption says of this run beyond the
    title: ranges over layers, nulls, counts; empty where there is no more to say.
    """

    name: str
    section: str
    needs: tuple[str, ...]
    finding: Callable[[xr.DataTree], str]
    draw: Callable[[xr.DataTree], go.Figure]
    text: str
    formula: str
    source: str
    detail: Callable[[xr.DataTree], str] = lambda _: ""

"""Kinds of heads in two runs: which change, and the scores that say so."""

import textwrap

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.comparison import LABEL_LETTERS
from armillary.figures.kit.colours import HEADS, NULL
from armillary.figures.kit.style import axes, literal, panels
from armillary.figures.kit.words import quoted
from armillary.results.kinds import DECIDING, head_name, kind_step
from armillary.results.reading import label_of
from armillary.results.schema.naming import KINDS

NAME = "head-kinds"
TEXT = (
    "Every head that has a kind in one of the runs, at the score that decides it: of its two kinds that whose score "
    "moved most, of uniform heads the relative entropy. Filled: that score differs significantly. Dashed: no change."
)
HOW = "score in the second run against score in the first; significant: false discovery rate 5 % over all heads"
RANGE = (-3, 103)


def kinds_detail(kinds: xr.Dataset) -> str:
    """Which head moved most, from which kind to which, and by how much; empty where none changes kind."""
    count = int(kinds.changed.values.sum())
    if not count:
        return ""
    head = next(kinds.to_dataframe().itertuples())
    difference, margin = head.score_other - head.score_one, (head.difference_high - head.difference_low) / 2
    size = quoted(100 * difference, 100 * margin)
    by = f" by {'+' if difference > 0 else ''}{size} percentage points" if np.isfinite(margin) else ""
    return f"{'Most in' if count > 1 else 'In'} {head_name(head)}: {kind_step(head)}{by}"


def kinds_figure(kinds: xr.Dataset, names: tuple[str, str]) -> go.Figure:
    """The deciding score of every named head in the second run against the first."""
    figure = panels(height=480)
    still = {"mode": "lines", "line": {"color": NULL, "dash": "dash", "width": 1}, "hoverinfo": "skip"}
    figure.add_trace(go.Scatter(x=[0, 100], y=[0, 100], name="no change", **still))
    heads = kinds.to_dataframe()
    for stored, word in KINDS.items():
        mine = heads[heads.score == stored]
        marker = {"color": HEADS[stored], "size": 9, "symbol": np.where(mine.differs, "circle", "circle-open")}
        dots = go.Scatter(x=100 * mine.score_one, y=100 * mine.score_other, mode="markers", name=word, marker=marker)
        dots.customdata = [
            [f"{head_name(head)}: {kind_step(head)}", label_of(DECIDING[stored])] for head in mine.itertuples()
        ]
        dots.hovertemplate = "%{customdata[0]}<br>%{customdata[1]}: %{x:.1f} → %{y:.1f} %<extra></extra>"
        if len(mine):
            figure.add_trace(dots)
    titles = [textwrap.wrap(f"score in {place}: {name}, %", LABEL_LETTERS) for place, name in enumerate(names, 1)]
    first, second = ("<br>".join(map(literal, lines)) for lines in titles)
    figure.update_layout(legend={"y": -0.32})  # below an axis title of two lines
    return axes(figure, first, second, range=RANGE).update_xaxes(range=RANGE)

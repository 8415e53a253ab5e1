"""A run in a notebook: a short table, and the figures that it can draw."""

from html import escape

import xarray as xr

from armillary.figures import Figure, available
from armillary.printing.layers import table
from armillary.reporting.content import missing, reading
from armillary.reporting.plots import FigureFailed, naming
from armillary.reporting.prose import coded
from armillary.results.reading import label_of
from armillary.results.store import Run

COLUMNS = {
    "position_share_corrected": label_of("position/share_corrected"),
    "position_share_corrected_se": "SE",
    "context_share": f"context {label_of('variance/share')}",
    "rank_stable_corrected": label_of("position/rank_stable_corrected"),
    "norm": label_of("norms/norm"),
}
"""Columns of the table of layers, and what the schema calls them."""

ROWS = 7


def summary(run: Run) -> str:
    """Title, some layers of the table, what the run lacks, and the names that `run.plot` takes, as HTML."""
    results = run.results
    parts = [f"<h4>{escape(run.title)}</h4>", f"<p>{coded(reading(run))}</p>"]
    if {"variance", "position", "norms"} <= set(results.children):
        layers = table(run)
        some = layers.iloc[:: max(1, -(-len(layers) // ROWS))]
        parts.append(some[list(COLUMNS)].rename(columns=COLUMNS).to_html(float_format="{:.3g}".format, na_rep="–"))
    parts += [f"<p>{coded(sentence)}</p>" for sentence in missing(results)]
    figures = [
        f"<code>run.plot({figure.name!r})</code> {coded(finding(figure, results))}" for figure in available(results)
    ]
    held = [
        f"{escape(group)}: {escape(', '.join(map(str, node.data_vars)))}" for group, node in results.children.items()
    ]
    return "".join([*parts, folded("figures", figures), folded("results", held)])


def finding(figure: Figure, results: xr.DataTree) -> str:
    """What a figure shows, or that it failed."""
    try:
        with naming(figure.name):
            return figure.finding(results)
    except FigureFailed as failure:
        return str(failure)


def folded(title: str, items: list[str]) -> str:
    """A list that opens on a click; nothing where it is empty."""
    listed = "".join(f"<li>{item}</li>" for item in items)
    return f"<details><summary>{title}</summary><ul>{listed}</ul></details>" if items else ""

"""A run in a notebook: a short table, and the figures that it can draw."""

from html import escape

from armillary.figures import available
from armillary.printing.layers import table
from armillary.reporting.content import reading, run_title
from armillary.results.store import Run

COLUMNS = {
    "position_share_corrected": "position",
    "position_share_corrected_se": "± se",
    "context_share": "context",
    "rank_stable_corrected": "stable rank",
    "norm": "norm",
}
ROWS = 7


def summary(run: Run) -> str:
    """Title, some layers of the table, and the names that `run.plot` takes, as HTML."""
    parts = [f"<h4>{escape(run_title(run))}</h4>", f"<p>{escape(reading(run))}</p>"]
    if {"variance", "position", "norms"} <= set(run.results.children):
        whole = table(run)
        some = whole.iloc[:: max(1, -(-len(whole) // ROWS))]
        parts.append(some[list(COLUMNS)].rename(columns=COLUMNS).to_html(float_format="{:.3g}".format, na_rep="–"))
    listed = "".join(
        f"<li><code>run.plot({one.name!r})</code> {escape(one.finding(run.results))}</li>"
        for one in available(run.results)
    )
    held = "".join(
        f"<li>{escape(group)}: {escape(', '.join(map(str, node.data_vars)))}</li>"
        for group, node in run.results.children.items()
    )
    parts += [f"<details><summary>{name}</summary><ul>{items}</ul></details>" for name, items in
              (("figures", listed), ("results", held)) if items]  # fmt: skip
    return "".join(parts)

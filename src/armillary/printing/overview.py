"""What `show` prints of one run: the table of its layers, else of its heads, weights, stores or a text, else groups."""

from typing import NamedTuple

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from armillary.printing import heads, layers, simulation, stores, sweep, training, travel, weights
from armillary.results.reading import lacking, simulated
from armillary.results.schema import GROUPS
from armillary.results.schema.kinds import adding
from armillary.results.store import Run

DECOMPOSITION = "decomposition"


class Shown(NamedTuple):
    """A table as rows of data and for a terminal."""

    rows: pd.DataFrame
    printed: RenderableType


def decomposition(run: Run, *, wide: bool = False) -> Shown:
    """How the layers split into position, context and residual; `wide` prints plug-in estimates and all nulls too."""
    return Shown(layers.table(run), layers.printed(run, wide=wide))


def overview(run: Run, *, wide: bool = False) -> Shown:
    """What there is to show: the first kind of result that a run has; what is missing, and what adds it."""
    held = set(run.results.children)
    if simulated(run.results) and simulation.GROUP in held:
        return Shown(simulation.rows(run), simulation.printed(run))
    if held.issuperset(layers.GROUPS):
        return decomposition(run, wide=wide)
    if held & {"taxonomy", "heads"}:
        rows = heads.heads_table(run)
        return Shown(rows, Group(heads.summary(run, rows), Text(missing(run))))
    if sweep.SWEEP in held:
        return Shown(sweep.rows(run), sweep.printed(run))
    if training.TRAINING in held:
        return Shown(training.rows(run), Group(training.printed(run), Text(missing(run))))
    if "weights" in held:
        return Shown(weights.head_rows(run), Group(weights.by_block(run), Text(missing(run))))
    if "stores" in held:
        return Shown(stores.rows(run), Group(stores.by_block(run), Text(missing(run))))
    if "travel" in held:
        return Shown(travel.rows(run), Group(travel.by_token(run), Text(missing(run))))
    return Shown(groups(run), Group(contents(run), Text(missing(run))))


def groups(run: Run) -> pd.DataFrame:
    """One row per group that a run holds: what it is about, and how many results it has."""
    rows = [
        {"group": name, "about": GROUPS[name].text if name in GROUPS else "", "results": len(node.data_vars)}
        for name, node in run.results.children.items()
    ]
    return pd.DataFrame(rows, columns=["group", "about", "results"]).set_index("group")


def contents(run: Run) -> Table:
    """The groups for a terminal."""
    table = Table(title=Text(f"{run.title}: groups of results"), title_justify="left")
    for name in ("group", "about", "results"):
        table.add_column(name, overflow="fold", justify="right" if name == "results" else "left")
    for group, row in groups(run).iterrows():
        table.add_row(Text(f"/{group}"), Text(row.about), str(row.results))
    return table


def missing(run: Run) -> str:
    """What the run does not hold, by the command that adds it."""
    named = {command: ", ".join(f"/{name}" for name in names) for command, names in lacking(run.results).items()}
    return "\n".join(f"{adding(command, names)}." for command, names in named.items())

"""The table of a sweep: one row per pair of strengths, and what it says to the document's claims."""

import pandas as pd
from rich.console import Group
from rich.text import Text

from armillary.printing.numbers import factor, heading, significant
from armillary.printing.panels import SE, Column, Panels
from armillary.results.reading import require
from armillary.results.schema.training import SWEEP
from armillary.results.store import Run

SHOWN = ("scale_qk", "trace_qk", "entropy", "signal_propagation", "perplexity")
"""What is printed."""


def rows(run: Run) -> pd.DataFrame:
    """One row per pair of strengths and seed."""
    require(run.results, SWEEP)
    found = run.results[SWEEP].to_dataset()
    return found[[f"{name}_seeds" for name in SHOWN]].to_dataframe()


def printed(run: Run) -> Group:
    """Means over seeds for a terminal, and the claims."""
    require(run.results, SWEEP)
    found = run.results[SWEEP].to_dataset()
    table = found[[*SHOWN, *(f"{name}_se" for name in SHOWN)]].to_dataframe().reset_index()
    columns = [
        Column("κ₁", [f"{value:g}" for value in table.kappa_scale]),
        Column("κ₂", [f"{value:g}" for value in table.kappa_trace]),
    ]
    for name in SHOWN:
        times = factor(f"{SWEEP}/{name}")
        columns.append(Column(heading(f"{SWEEP}/{name}"), [significant(value, 4) for value in times * table[name]]))
        errors = times * table[f"{name}_se"]
        columns.append(Column(SE, [significant(error, 2) for error in errors], quiet=True))
    title = f"{run.title}: {found.sizes['seed']} seeds for each pair of strengths"
    return Group(Panels(title, columns, "SE: over seeds."), Text("\n".join(claims(run))))


def claims(run: Run) -> list[str]:
    """A line for each claim of the document and each baseline."""
    found = run.results[SWEEP].to_dataset()
    return [
        f"{claim} (against {baseline}): {found.verdict.values[row, column]}; change "
        f"{significant(float(found.change[row, column]), 4)}, "
        f"SE {significant(float(found.change_se[row, column]), 2)}"
        for column, baseline in enumerate(found.baseline.values)
        for row, claim in enumerate(found.claim.values)
    ]

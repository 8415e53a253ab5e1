"""Two runs on one screen: the headline results, and the ten results that changed most clearly."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd
import xarray as xr
from rich.console import Group, RenderableType
from rich.text import Text

from armillary.printing.differences import counted, difference_rows, meeting
from armillary.printing.numbers import factor, heading
from armillary.printing.panels import SE, Column, Panels
from armillary.results.kinds import head_name, kind_step, surely_changed
from armillary.results.two_runs import HEADLINES, RUNS

LARGEST, NAME = 10, 27
"""How many of the other results are printed, and in how many letters a line of their names."""

FEW = 3
"""How many heads that change kind are named."""


class Change(NamedTuple):
    """One result of two runs: in how many rows it differs significantly, and where it does so most clearly.

    `z` is that difference in standard errors, 0 where none has one.
    """

    path: str
    label: str
    differs: int
    rows: str
    clearest: str
    error: str
    at: str
    z: float


def changes(comparison: xr.DataTree) -> list[Change]:
    """Every result that has an error in both runs, with its rows over layers, blocks or heads as one.

    What has several values per head, as its map, is left to JSON and CSV.
    """
    rows = difference_rows(comparison)
    if "differs" not in rows:
        return []
    heads = rows.place.str.startswith("head=")
    rows = rows[rows.differs.notna() & ~(heads & rows.place.str.contains(","))]
    places = rows.place.where(~heads, "")
    return [change(part, str(place)) for (_, _, place), part in rows.groupby(["group", "result", places], sort=False)]


def change(rows: pd.DataFrame, place: str) -> Change:
    """The rows of one result as one change; shares in per cent."""
    path = f"{rows.group.iloc[0]}/{rows.result.iloc[0]}"
    most, z = clearest(rows)
    further = place.removeprefix("component=").replace("=", " ")
    return Change(
        path=path,
        label=f"{heading(path)}, {further}" if further else heading(path),
        differs=int(rows.differs.sum()),
        rows=f"{len(rows)} {counted(rows)}",
        clearest="–" if most is None else " → ".join(f"{factor(path) * most[run]:.3g}" for run in RUNS),
        error="–" if most is None else f"{factor(path) * most.difference_se:.2g}",
        at="" if most is None else place_of(most),
        z=z,
    )


def clearest(rows: pd.DataFrame) -> tuple[pd.Series | None, float]:
    """The row whose difference is largest in standard errors, and that ratio."""
    known = rows[rows.difference_se > 0]
    if known.empty:
        return None, 0.0
    ratio = known.difference.abs() / known.difference_se
    return known.loc[ratio.idxmax()], float(ratio.max())


def place_of(row: pd.Series) -> str:
    """Where a row lies: layer 12, step 100, or L3H2 for a head."""
    depth = meeting(int(row.at_one), int(row.at_other))
    return f"L{depth}H{row.place.removeprefix('head=')}" if row.place.startswith("head=") else f"{row['axis']} {depth}"


def on_one_screen(comparison: xr.DataTree) -> Group:
    """What is compared, the headline results, the ten clearest other changes, and how to read them."""
    found = changes(comparison)
    first = [each for path in HEADLINES for each in found if each.path == path]
    ordered = sorted((each for each in found if each.path not in HEADLINES and each.differs), key=lambda each: -each.z)
    rest = list({each.path: each for each in reversed(ordered)}.values())[::-1]  # the clearest of each result
    parts: list[RenderableType] = [named(comparison), Text(verdict(found))]
    if first:
        parts.append(panel("Headline results", first))
    if rest:
        title = f"Largest other changes, by their standard errors ({min(LARGEST, len(rest))} of {len(rest)})"
        parts.append(panel(title, rest[:LARGEST]))
    if of_heads := kinds_changed(comparison["kinds"].to_dataset()):
        parts.append(Text(f"\n{of_heads}"))
    return Group(*parts, Text("\n".join(captions(comparison.attrs, found))))


def kinds_changed(kinds: xr.Dataset) -> str:
    """How many heads change kind, how many significantly, and whose score moved most; empty where it is not known."""
    if not kinds.data_vars:
        return ""
    heads = list(kinds.isel(named=kinds.changed.values).to_dataframe().itertuples())
    some = ", ".join(f"{head_name(head)} {kind_step(head)}" for head in heads[:FEW])
    more = f" and {len(heads) - FEW} more" if len(heads) > FEW else ""
    return f"{surely_changed(kinds)}{': ' if some else ''}{some}{more}."


def named(comparison: xr.DataTree) -> Text:
    """Which run is which, and what they differ in."""
    about = comparison.attrs
    said = [f"one:   {about['one']}", f"other: {about['other']}", f"The runs differ in {about['differ_in']}."]
    return Text("\n".join(line for line in (*said, about["held_by_one"]) if line))


def verdict(found: list[Change]) -> str:
    """How many results differ anywhere, in one sentence."""
    if not found:
        return "No result has an error in both runs: nothing can be tested."
    if all(each.z == 0 for each in found):
        return f"All {len(found)} results that have an error are identical."
    differing = sum(each.differs > 0 for each in found)
    return f"{differing} of {len(found)} results differ significantly somewhere (false discovery rate 5 % per result)."


def panel(title: str, found: list[Change]) -> Panels:
    """Some changes as a table, one row each."""
    columns = [
        Column("result", [each.label for each in found], words=True, limit=NAME),
        Column("differs in", [f"{each.differs}/{each.rows}" for each in found]),
        Column("clearest,\none → other", [each.clearest for each in found]),
        Column(SE, [each.error for each in found], quiet=True),
        Column("at", [each.at for each in found], words=True),
    ]
    return Panels(f"\n{title}", columns, "")


def captions(about: Mapping[Any, Any], found: list[Change]) -> Iterator[str]:
    """How to read the tables, whether the errors are independent, and what prints the rest."""
    if found:
        yield "SE: standard error of the difference."
    yield from about["notes"].splitlines()[1:2]
    if about["depths"]:
        yield about["depths"]
    yield (
        "--all prints every result, layer by layer, heads, ranges and angles; --json gives every number, --csv those "
        "of the results."
    )

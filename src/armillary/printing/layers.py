"""The first table: one row per layer, as data and as it is printed."""

from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from armillary.printing.numbers import draws_of, heading, number
from armillary.printing.panels import Column, Panels, estimates
from armillary.results.reading import array, optional, require, why_no_error
from armillary.results.store import Run, opened
from armillary.system.texts import numbered

GROUPS = ("variance", "position", "norms")
"""What the table needs."""


def table(run: Run | str | Path) -> pd.DataFrame:
    """One row per layer: shares of variance, stable rank, relative norm, norm, each with its error and its null."""
    results = opened(run).results
    require(results, *GROUPS)
    variance, position, norms = (results[name].to_dataset() for name in GROUPS)
    columns: dict[str, xr.DataArray] = {}
    for component in variance.component.values:
        columns[f"{component}_share"] = variance.share.sel(component=component)
        if component != "residual":
            columns[f"{component}_share_floor"] = variance.share_floor.sel(component=component)
    for name in ("share_null", "share_corrected", "share_corrected_se"):
        columns[f"position_{name}"] = position[name]
    for name in ("rank_stable", "relative_norm"):
        for ending in ("", "_null", "_corrected", "_corrected_se"):
            columns[name + ending] = position[name + ending]
    columns |= {"norm": norms.norm, "norm_se": norms.norm_se}
    return pd.DataFrame(
        {name: np.asarray(values.values) for name, values in columns.items()},
        index=pd.RangeIndex(variance.sizes["layer"], name="layer"),
    )


def printed(run: Run, *, wide: bool = False) -> Panels:
    """The table for a terminal: bias-corrected values with their SE; with `wide` also plug-in values and nulls."""
    about, rows = run.provenance, table(run)
    read = f"{numbered(about['contexts'], 'window')} of {about['length']} tokens"
    title = f"{run.title}: {read}"
    layers = Column("layer", [str(layer) for layer in rows.index])
    return Panels(title, [layers, *(all_columns(rows) if wide else first_columns(rows))], caption(run, wide=wide))


def first_columns(rows: pd.DataFrame) -> list[Column]:
    """What fits 80 columns: the shares of position and context, the stable rank, the norm."""
    return [
        *corrected(rows, "position %", "position_share", 100, 2),
        Column("context %", plain(rows.context_share, 100, 1)),
        Column("null", plain(rows.context_share_floor, 100, 1), quiet=True),
        *corrected(rows, heading("position/rank_stable_corrected"), "rank_stable", 1, 2),
        *estimates(heading("norms/norm"), rows.norm, rows.norm_se, 1),
    ]


def all_columns(rows: pd.DataFrame) -> list[Column]:
    """Every result of the table, with its plug-in estimate and its null."""
    return [
        *estimate(rows, "position %", "position_share", 100, (2, 2)),
        Column("context %", plain(rows.context_share, 100, 1)),
        Column("null", plain(rows.context_share_floor, 100, 1), quiet=True),
        Column("residual %", plain(rows.residual_share, 100, 1)),
        *estimate(rows, heading("position/rank_stable_corrected"), "rank_stable", 1, (2, 1)),
        *estimate(rows, heading("position/relative_norm_corrected"), "relative_norm", 1, (3, 3)),
        *estimates(heading("norms/norm"), rows.norm, rows.norm_se, 1),
    ]


def estimate(rows: pd.DataFrame, name: str, result: str, times: int, digits: tuple[int, int]) -> list[Column]:
    """A bias-corrected result with its error, the plug-in estimate and its null."""
    return [
        *corrected(rows, name, result, times, digits[0]),
        Column("plug-in", plain(rows[result], times, digits[0]), quiet=True),
        Column("null", plain(rows[f"{result}_null"], times, digits[1]), quiet=True),
    ]


def corrected(rows: pd.DataFrame, name: str, result: str, times: int, digits: int) -> list[Column]:
    """A bias-corrected result with its error."""
    return estimates(name, times * rows[f"{result}_corrected"], times * rows[f"{result}_corrected_se"], digits)


def plain(values: pd.Series, times: int, digits: int) -> list[str]:
    """The cells of numbers that have no error."""
    return [number(times * value, digits) for value in values]


def caption(run: Run, *, wide: bool = False) -> str:
    """How to read the table, and what was left out."""
    reason = why_no_error(run.results)
    lines = [f"{reason[0].upper()}{reason[1:]}."] if reason else []
    if optional(run.results, "norms/norm_se") is not None and np.isfinite(array(run.results, "norms/norm_se")).any():
        over = draws_of(str(run.provenance.get("groups", "")))
        lines.insert(0, f"SE: standard error over {over}. –: not estimable, position is within 3 SE of 0.")
    if (array(run.results, "position/rank_stable_corrected") < 1).any():
        lines.append("A bias-corrected stable rank may fall a little below 1, the least that one direction has.")
    if wide:
        lines.append(
            "plug-in: the documents' own formula, with its small-sample bias. "
            "null: circularly shifted windows (context: permutation null)."
        )
    else:
        lines.append("null: the context share of permuted windows. --wide adds plug-in estimates and the other nulls.")
    return "\n".join([*lines, *massive_tokens(run)])


def massive_tokens(run: Run) -> list[str]:
    """Which tokens of massive norm were left out or kept, in one line; nothing where there were none."""
    count = run.results["outliers"].sizes["outlier"] if "outliers" in run.results.children else 0
    if not count:
        return []
    texts = pd.Series(run.results["outliers"].text.values.astype(str)).value_counts()
    named = ", ".join(f"'{text}' ×{times}" for text, times in texts.head(4).items())
    what = "left out" if run.provenance.get("outliers") == "drop" else "kept"
    tokens = "1 token of massive norm was" if count == 1 else f"{count} tokens of massive norm were"
    return [f"{tokens} {what}: {named}{', …' if len(texts) > 4 else ''}."]

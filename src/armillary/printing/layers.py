"""The first table: one row per layer, as data and as it is printed."""

import numpy as np
import pandas as pd
import xarray as xr
from rich.table import Table
from rich.text import Text

from armillary.printing.numbers import with_error
from armillary.results.store import Run


def table(run: Run) -> pd.DataFrame:
    """One row per layer: shares of variance, stable rank, relative norm, norm, each with its error and its null."""
    variance, position, norms = (run.results[name].to_dataset() for name in ("variance", "position", "norms"))
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


def printed(run: Run) -> Table:
    """The table for a terminal: corrected values first, one standard error after ±, the null in its own column."""
    about = run.provenance
    out = Table(
        title=Text(f"{about['model']} on {about['corpus']}: {about['contexts']} windows of {about['length']} tokens"),
        caption=Text(caption(run)),
        caption_justify="left",
        title_justify="left",
    )
    for name in ("layer", "position %", "raw", "null", "context %", "null", "rest %", "stable rank", "raw", "null",
                 "relative norm", "raw", "null", "norm"):  # fmt: skip
        out.add_column(name, justify="right", style="dim" if name in ("raw", "null") else "", no_wrap=True)
    for layer, row in table(run).iterrows():
        out.add_row(
            str(layer),
            with_error(100 * row.position_share_corrected, 100 * row.position_share_corrected_se, 2),
            f"{100 * row.position_share:.2f}",
            f"{100 * row.position_share_null:.2f}",
            f"{100 * row.context_share:.1f}",
            f"{100 * row.context_share_floor:.1f}",
            f"{100 * row.residual_share:.1f}",
            with_error(row.rank_stable_corrected, row.rank_stable_corrected_se, 2),
            f"{row.rank_stable:.2f}",
            f"{row.rank_stable_null:.1f}",
            with_error(row.relative_norm_corrected, row.relative_norm_corrected_se, 3),
            f"{row.relative_norm:.3f}",
            f"{row.relative_norm_null:.3f}",
            with_error(row.norm, row.norm_se, 1),
        )
    return out


def caption(run: Run) -> str:
    """How to read the table, and what was left out."""
    about, outliers = run.provenance, run.results["outliers"].to_dataset()
    found = outliers.sizes["outlier"]
    lines = [
        f"± one standard error over {about['groups']}; "
        "– not determined: position is within 3 standard errors of nothing.",
        "First without small-sample bias; raw: by the plain formula; null: what the plain formula gives when every "
        "window is turned at random (for context: when tokens are dealt out anew among the windows).",
    ]
    if found:
        texts = pd.Series(outliers.text.values.astype(str)).value_counts()
        named = ", ".join(f"'{text}' ×{count}" for text, count in texts.head(4).items())
        what = "left out" if about["outliers"] == "drop" else "kept"
        lines.append(f"{found} tokens of massive norm were {what}: {named}{', …' if len(texts) > 4 else ''}.")
    return "\n".join(lines)

"""The table of heads: one row per head, as data and as it is printed."""

import numpy as np
import pandas as pd
import xarray as xr
from rich.table import Table
from rich.text import Text

from armillary.errors import RequestError
from armillary.measures.taxonomy import GENERAL, SPECIAL
from armillary.printing.numbers import number, with_error
from armillary.results.store import Run

COLUMNS = ("head", "kind", "induction", "duplicate", "previous", "first", "near", "itself", "entropy", "of max",
           "distance", "signal", "rank", "driven by")  # fmt: skip
KINDS = (*SPECIAL, *GENERAL, "uniform")
SHOWN = ("entropy", "entropy_relative", "mass_first", "mass_self", "mass_previous", "distance", "signal_propagation",
         "rank_effective", "rank_stable")  # fmt: skip


def head_table(run: Run, kind: str | None = None) -> pd.DataFrame:
    """One row per head, or per head of one kind: its name, its scores and what it does on text, each with its error."""
    if kind is not None and kind not in KINDS:
        raise RequestError(f"expected a kind of head among {', '.join(KINDS)}, came {kind!r}")
    names, heads = (run.results[name].to_dataset() for name in ("taxonomy", "heads"))
    columns = {"kind": names.kind}
    for source, wanted in ((names, (*SPECIAL, *GENERAL)), (heads, SHOWN)):
        for name in wanted:
            columns |= {name: source[name], f"{name}_se": source[f"{name}_se"]}
    index = pd.MultiIndex.from_product([range(size) for size in names.kind.shape], names=["block", "head"])
    if "constituents" in run.results:
        columns |= driver(run.results["constituents"].share)
    frame = pd.DataFrame({name: values.values.ravel() for name, values in columns.items()}, index=index)
    return frame if kind is None else frame[frame.kind == kind]


def driver(share: xr.DataArray) -> dict[str, xr.DataArray]:
    """The constituent with the largest share in each head's logits, query part then key part, and that share."""
    flat = share.stack(pair=("part_query", "part_key")).fillna(-np.inf)
    best = flat.argmax("pair")
    names = np.array([f"{query}·{key}" for query, key in flat.pair.values])
    known = np.isfinite(flat.max("pair"))
    return {"driver": best.copy(data=np.where(known, names[best], "")), "driver_share": flat.max("pair").where(known)}


def printed(run: Run, frame: pd.DataFrame) -> Table:
    """The rows for a terminal; block 10, head 7 is L10H7."""
    about = run.provenance
    out = Table(
        title=Text(f"heads of {about['model']} on {about['corpus']}"),
        caption=Text(caption(run)),
        caption_justify="left",
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
    )
    for name in COLUMNS:
        out.add_column(name, justify="left" if name in ("head", "kind", "driven by") else "right", no_wrap=True)
    for (block, head), row in frame.iterrows():
        out.add_row(
            f"L{block}H{head}",
            row.kind,
            *(with_error(row[score], row[f"{score}_se"], 2) for score in (*SPECIAL, "sink")),
            *(number(row[name], 2) for name in ("local", "mass_self", "entropy", "entropy_relative")),
            number(row.distance, 1),
            number(row.signal_propagation, 2),
            number(row.rank_effective, 1),
            row.get("driver", ""),
        )
    return out


def caption(run: Run) -> str:
    """How to read the table: what the columns are, what the random twin reaches, how many heads have which name."""
    names = run.results["taxonomy"].to_dataset()
    shown = {
        "induction": "induction",
        "duplicate": "duplicate",
        "previous": "previous",
        "first": "sink",
        "near": "local",
    }
    nulls = ", ".join(f"{label} {float(names[f'{score}_null']):.2f}" for label, score in shown.items())
    counts = pd.Series(names.kind.values.ravel().astype(str)).value_counts()
    named = ", ".join(f"{counts.get(kind, 0)} {kind}" for kind in KINDS)
    lines = (
        f"{named}, {counts.get('', 0)} without a name.",
        "Attention, as a share: induction, duplicate and previous on random tokens that come twice; first (position "
        "0), near (within 4 tokens) and itself on text. ± one standard error; --json and --csv give the others.",
        f"The highest of any head of the random twin: {nulls}. A name needs clearly more than that.",
        "entropy in nats, and as a share of its maximum; distance in tokens; signal: signal propagation; "
        "rank: effective rank of a map; driven by: the constituent of the logits (query · key) with the largest share.",
    )
    return "\n".join(lines)

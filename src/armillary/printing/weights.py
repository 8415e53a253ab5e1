"""The tables of weights: one row per block, or per head of one block, as data and as they are printed."""

import numpy as np
import pandas as pd
import xarray as xr

from armillary.errors import refuse_outside
from armillary.measures.spectra.product_null import differing
from armillary.printing.numbers import heading, number
from armillary.printing.panels import Column, Panels
from armillary.results.reading import array, has, numbers, require
from armillary.results.schema.weights import PRODUCTS, SHOWN
from armillary.results.store import Run
from armillary.results.weight_answers import weight_answers

SCORES = ("trace", "top", "overlap")
"""The z-scores that tell a product from one of independent factors."""

CONTROL = "control"

LEVEL = 0.01
"""Below it the largest singular value of a matrix stands out from noise."""


def head_rows(run: Run) -> pd.DataFrame:
    """One row per head: every result that is one number per head, and the control's beside it."""
    require(run.results, "weights")
    columns: dict[str, np.ndarray] = {}
    for group, ending in (("weights", ""), ("weights_twin", "_twin")):
        if group in run.results.children:
            dataset = run.results[group].to_dataset()
            scalars = [name for name in dataset.data_vars if dataset[name].dims == ("block", "head")]
            columns |= {f"{name}{ending}": dataset[name].values.ravel() for name in scalars}
    shape = array(run.results, "weights/trace_qk").shape
    return pd.DataFrame(columns, pd.MultiIndex.from_product([range(size) for size in shape], names=["block", "head"]))


def differing_heads(results: xr.DataTree, group: str, product: str) -> np.ndarray:
    """Whether each head's product differs from one of independent factors, all heads jointly."""
    return differing(*(numbers(results, f"{group}/{score}_{product}_z") for score in SCORES))


def by_block(run: Run) -> Panels:
    """One row per block: how many heads and matrices differ from random ones, and in which way; the control beside."""
    results = run.results
    blocks, heads = array(results, "weights/trace_qk").shape
    columns = [Column("block", [str(block) for block in range(blocks)])]
    for product, matrix in PRODUCTS.items():
        for group, words in (("weights", f"heads not random, {matrix}"), ("weights_twin", CONTROL)):
            if group in results.children:
                counts = differing_heads(results, group, product).sum(1)
                cells = [f"{count} of {heads}" for count in counts]
                columns.append(Column(words, cells, quiet=group != "weights"))
    columns += outlier_columns(results)
    for name in ("trace_qk_z", "top_qk_z", "overlap_qk_z", "symmetry", "directionality"):
        columns += medians(results, name)
    return Panels(title(run), columns, caption(run))


def outlier_columns(results: xr.DataTree) -> list[Column]:
    """How many matrices of each block hold singular values above the noise."""
    found = []
    for group, words in (("matrices", "matrices with outliers"), ("matrices_twin", CONTROL)):
        if group in results.children:
            # The p-value of σ₁ is known even where so much stands above the bulk that no noise is left to fit.
            p = numbers(results, f"{group}/top_p")
            cells = [f"{np.sum(row < LEVEL)} of {np.sum(np.isfinite(row))}" for row in p]
            found.append(Column(words, cells, quiet=group != "matrices"))
    return found


def medians(results: xr.DataTree, name: str) -> list[Column]:
    """The median over a block's heads, and the control's."""
    digits = 1 if name.endswith("_z") else 2
    found = []
    for group in ("weights", "weights_twin"):
        if has(results, f"{group}/{name}"):
            values = pd.DataFrame(numbers(results, f"{group}/{name}")).median(axis=1)
            own = group == "weights"
            found.append(Column(heading(f"weights/{name}") if own else CONTROL, cells(values, digits), quiet=not own))
    return found


def of_block(run: Run, block: int) -> Panels:
    """One row per head of a block."""
    frame = head_rows(run)
    refuse_outside("a block", block, 0, int(frame.index.get_level_values("block").max()))
    rows = frame.loc[block]
    columns = [Column("head", [f"L{block}H{head}" for head in rows.index], words=True)]
    columns += [
        Column(heading(f"weights/{name}"), cells(rows[name], 1 if name.endswith("_z") else 3))
        for name in SHOWN
        if name in rows
    ]
    return Panels(title(run), columns, NOTE)


def cells(values: pd.Series, digits: int) -> list[str]:
    """Numbers of one column."""
    return [number(float(value), digits) for value in values]


NOTE = "z: standard deviations from products of independent factors with the same singular values in random directions."


def title(run: Run) -> str:
    """Whose weights."""
    return f"Weights of {run.provenance.get('model', 'a model')}"


def caption(run: Run) -> str:
    """What the run says to the claims, and how to read the table."""
    lines = [str(answer) for answer in weight_answers(run.results).values()]
    lines += [
        "not random: alignment, largest singular value or overlap of a head's W_QK or W_VO differs from products of "
        "independent factors (5 %, all heads jointly).",
        f"{NOTE} Medians over the block's heads.",
        "outliers: singular values of a whole matrix above the Marchenko–Pastur bulk (1 %, Tracy–Widom).",
        f"{CONTROL}: the random-weight control. --block prints every head of one block; --json and --csv give all.",
    ]
    if note := run.results["weights"].attrs.get("note"):
        lines.append(str(note))
    return "\n".join(lines)

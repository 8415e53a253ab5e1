"""What the page shows of heads without the model: the map of all, by kind or number, and all that is known of one."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from armillary.errors import RequestError, did_you_mean
from armillary.explorer import pictures
from armillary.figures.heads.names import every_kind
from armillary.reporting.plots import naming
from armillary.results.kinds import DECIDING, KIND, all_kinds, kinds_of
from armillary.results.reading import array, has, label_of, numbers, require, row_of
from armillary.results.schema import GROUPS
from armillary.results.schema.heads import SCALARS
from armillary.results.schema.kinds import adding
from armillary.results.schema.naming import KINDS, SCORES
from armillary.results.schema.stores import SIDE_NAMES
from armillary.results.schema.weights import SHOWN
from armillary.results.store import Run

EACH_HEAD = ("heads/entropy", "taxonomy/kind", "constituents/share", "weights/trace_qk", "stores/peak_z")
"""Results whose first axes are block and head: any of them says how many there are."""

READ = 3
"""Triplets of a head's weights that are read as tokens."""

SIDES = {
    "query": "looks for it: query side of W_QK",
    "key": "is found by it: key side of W_QK",
    "input": "reads: input side of W_VO",
    "output": "writes: output side of W_VO",
}

PAGE = {
    "heads/map": "Attention on text",
    "constituents/share": "QK terms",
    "weights/singular_value_qk": "Weights",
    "stores/text": "Readings",
}
"""What a head's page is made of, in words."""


class Unknown(RequestError):  # noqa: N818  (it reads as a word)
    """A figure, layer, block, head or measure that this run does not have."""


def head_counts(results: xr.DataTree) -> tuple[int, int]:
    """Blocks and heads of the run; zeros where it holds nothing of all heads."""
    held = next((path for path in EACH_HEAD if has(results, path)), None)
    if held is None:
        return 0, 0
    sizes = array(results, held).sizes
    return int(sizes["block"]), int(sizes["head"])


def measures(results: xr.DataTree) -> list[dict[str, str]]:
    """What heads can be coloured by: their kinds, then numbers of text, of their kinds and of their weights."""
    groups: dict[str, Iterable[str]] = {"taxonomy": ("kind", *SCORES), "heads": SCALARS, "weights": SHOWN}
    groups["localization"] = ("xi", "eta")
    offered = [f"{group}/{name}" for group, names in groups.items() for name in names]
    rows = {path: row_of(path) for path in offered if has(results, path)}
    return [{"name": path, "label": row.label, "unit": row.unit, "text": row.text} for path, row in rows.items()]


def measure(run: Run, path: str) -> dict[str, Any]:
    """One number of every head, with standard errors and all kinds; of kinds, the score of the first."""
    rows = {row["name"]: row for row in measures(run.results)}
    if not rows:
        require(run.results, "heads")
    if path not in rows:
        raise Unknown(f"expected a measure of heads, got {path!r}: {did_you_mean(path, rows)}")
    values = own_scores(run.results) if path == KIND else numbers(run.results, path)
    error = None if path == KIND or not has(run.results, f"{path}_se") else numbers(run.results, f"{path}_se")
    return rows[path] | {
        "values": values.tolist(),
        "se": None if error is None else error.tolist(),
        "kinds": all_kinds(run.results) if has(run.results, KIND) else None,
    }


def own_scores(results: xr.DataTree) -> Float[np.ndarray, "block head"]:
    """The score of each head's own kind; NaN where it has none, or where the run does not hold the score."""
    kinds = kinds_of(results)
    scores = np.full(kinds.shape, np.nan)
    for kind, path in DECIDING.items():
        if has(results, path):
            scores = np.where(kinds == kind, numbers(results, path), scores)
    return scores


def named(results: xr.DataTree) -> list[dict[str, Any]]:
    """The heads that have a kind, by kind and the best first."""
    if not has(results, KIND):
        return []
    kinds, scores = kinds_of(results), np.nan_to_num(own_scores(results), nan=-1.0)
    order = sorted(
        zip(*np.nonzero(kinds), strict=True), key=lambda at: (list(KINDS).index(str(kinds[at])), -scores[at])
    )
    return [
        {"block": int(at[0]), "head": int(at[1]), "kind": str(kinds[at]), "score": max(float(scores[at]), 0.0)}
        for at in order
    ]


def head(run: Run, block: int, number: int) -> dict[str, Any]:
    """All that the run knows of one head: kind, pictures, numbers with errors, readings; and what adds the rest."""
    check_head(run, block, number)
    results, at = run.results, {"block": block, "head": number}
    rows = [row for row in measures(results) if row["name"] != KIND]
    return {
        "name": f"L{block}H{number}",
        "kind": str(every_kind(results)[block, number]) if has(results, KIND) else "",
        "rows": [row | known(results, row["name"], at) for row in rows],
        "figures": [head_picture(results, path, at) for path in pictures.HEADS if has(results, path)],
        "readings": readings(results, block, number),
        "missing": [lacking(path) for path in PAGE if not has(results, path)],
    }


def lacking(path: str) -> str:
    """What a head's page does not have, and the command that adds it."""
    return f"{PAGE[path]}: not in this run. {adding(GROUPS[path.partition('/')[0]].command)}."


def head_picture(results: xr.DataTree, path: str, at: dict[str, int]) -> dict[str, Any]:
    """One picture of a head, under the schema's name."""
    with naming(path):
        drawn = pictures.HEADS[path](results, at)
    title, text = pictures.HEAD_WORDS.get(path, (label_of(path), row_of(path).text))
    return {"title": title[:1].upper() + title[1:], "text": text, "figure": drawn.to_dict()}


def readings(results: xr.DataTree, block: int, number: int) -> list[dict[str, Any]]:
    """The first triplets of a head's W_QK and W_VO as tokens: what lies at either end of each singular vector."""
    if not has(results, "stores/text"):
        return []
    store = results.children["stores"].to_dataset()
    places = [np.flatnonzero(store[axis].values == at) for axis, at in (("block", block), ("head", number))]
    if any(len(place) == 0 for place in places):
        return []
    of_head = store.isel(block=int(places[0][0]), head=int(places[1][0]))
    return [
        {
            "side": SIDES[side],
            "triplets": [
                {
                    "z": float(of_head.peak_z.values[row, triplet]),
                    "null": float(of_head.peak_point_z.values[row]),
                    "ends": [[str(text) for text in end] for end in of_head.text.values[row, triplet]],
                }
                for triplet in range(min(READ, of_head.sizes["triplet"]))
            ],
        }
        for row, side in enumerate(SIDE_NAMES)
    ]


def check_head(run: Run, block: int, number: int) -> None:
    """Refuse a head that the run does not have."""
    blocks, heads = head_counts(run.results)
    if not blocks:
        require(run.results, "heads")
    refuse_head(block, number, blocks, heads)


def refuse_head(block: int, head: int, blocks: int, heads: int) -> None:
    """Refuse a block or head that the model does not have."""
    if not 0 <= block < blocks or not 0 <= head < heads:
        raise Unknown(
            f"expected a block from 0 to {blocks - 1} and a head from 0 to {heads - 1}, got L{block}H{head}: "
            "choose one of these"
        )


def known(results: xr.DataTree, path: str, at: dict[str, int]) -> dict[str, float | None]:
    """One head's value, its standard error, and its rank among all heads (1: the highest)."""
    values = numbers(results, path)
    value = float(values[at["block"], at["head"]])
    error = float(numbers(results, f"{path}_se", **at)) if has(results, f"{path}_se") else np.nan
    place = int(np.sum(values > value)) + 1 if np.isfinite(value) else None
    return {"value": value, "se": error, "place": place, "of": int(np.isfinite(values).sum())}

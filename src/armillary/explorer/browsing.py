"""What the page shows of a run without its model: facts, the registry's figures, one layer, heads and their numbers."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.errors import RequestError
from armillary.explorer import pictures
from armillary.figures import ERRORS, FIGURES, available
from armillary.figures.position.planes import first_positions
from armillary.results.reading import array, has, numbers, row_of
from armillary.results.schema import GROUPS
from armillary.results.schema.heads import SCALARS
from armillary.results.schema.naming import SCORES
from armillary.results.store import Run

LONGEST = 512
"""Prompts are never longer than this: the page holds maps of all pairs of tokens."""


class Unknown(RequestError):  # noqa: N818  (it reads as a word)
    """A figure, layer, block, head or measure that this run does not have."""


def facts(run: Run) -> dict[str, Any]:
    """What a run holds, and what can be chosen."""
    about, results = run.provenance, run.results
    shown = ("model", "corpus", "contexts", "length", "seed", "model_kind", "random_weights", "armillary")
    return {
        "about": {name: str(about[name]) for name in shown if str(about.get(name, ""))},
        "layers": layer_count(results),
        "blocks": head_counts(results)[0] or max(layer_count(results) - 1, 0),
        "heads": head_counts(results)[1],
        "positions": known_length(results),
        "longest": min(known_length(results), LONGEST),
        "pictures": [name for name, needs in pictures.LAYER_NEEDS.items() if all(has(results, path) for path in needs)],
        "figures": [{"name": figure.name, "section": figure.section} for figure in available(results)],
        "measures": measures(results),
        "errors": ERRORS,
    }


def layer_count(results: xr.DataTree) -> int:
    """How many states the run holds."""
    return array(results, "residual/position_basis").sizes["layer"] if has(results, "residual/position_basis") else 0


def head_counts(results: xr.DataTree) -> tuple[int, int]:
    """Blocks and heads of the run; zeros where it was surveyed without heads."""
    if not has(results, "heads/entropy"):
        return 0, 0
    blocks, heads = array(results, "heads/entropy").shape
    return int(blocks), int(heads)


def known_length(results: xr.DataTree) -> int:
    """How many tokens the windows had: positions beyond that are not known."""
    return int(first_positions(results).max()) + 1 if layer_count(results) else 0


def figure(run: Run, name: str) -> dict[str, Any]:
    """One figure of the registry with its words, which are plain text."""
    offered = {one.name: one for one in available(run.results)}
    if name not in offered:
        why = "which needs results that this run lacks" if name in FIGURES else "which is no figure"
        raise Unknown(f"expected a figure of this run, came {name!r}, {why}; choose {', '.join(offered) or 'none'}")
    one = offered[name]
    words = {"text": one.text, "formula": one.formula, "source": one.source}
    return {"name": name, "finding": one.finding(run.results), "figure": one.draw(run.results).to_dict()} | words


def layer(run: Run, number: int, name: str) -> dict[str, Any]:
    """One picture of one layer: plane, gram or spectrum."""
    count = layer_count(run.results)
    if not 0 <= number < count:
        raise Unknown(f"expected a layer from 0 to {count - 1}, came {number}")
    if name not in pictures.LAYERS or not all(has(run.results, path) for path in pictures.LAYER_NEEDS[name]):
        raise Unknown(f"expected one of {', '.join(facts(run)['pictures'])}, came {name!r}")
    drawn: go.Figure = pictures.LAYERS[name](run.results, number)
    return {"figure": drawn.to_dict(), "text": pictures.LAYER_TEXTS[name]}


def measures(results: xr.DataTree) -> list[dict[str, str]]:
    """The numbers by which heads can be coloured: those of /heads, and the scores of /taxonomy where it is there."""
    offered = [f"heads/{name}" for name in SCALARS] + [f"taxonomy/{name}" for name in SCORES]
    rows = {path: row_of(path) for path in offered if has(results, path)}
    return [{"name": path, "label": row.label, "unit": row.unit, "text": row.text} for path, row in rows.items()]


def measure(run: Run, path: str) -> dict[str, Any]:
    """One number of every head: values by block and head, errors, and the heads' names where they have any."""
    rows = {row["name"]: row for row in measures(run.results)}
    if path not in rows:
        raise Unknown(f"expected a measure of heads, came {path!r}; choose {', '.join(rows) or 'none: no --heads'}")
    kinds = array(run.results, "taxonomy/kind").values.astype(str) if has(run.results, "taxonomy/kind") else None
    return rows[path] | {
        "values": numbers(run.results, path).tolist(),
        "se": numbers(run.results, f"{path}_se").tolist() if has(run.results, f"{path}_se") else None,
        "kinds": None if kinds is None else kinds.tolist(),
    }


def head(run: Run, block: int, number: int) -> dict[str, Any]:
    """All that the run knows of one head: its numbers with errors, its distances, its mean map, its name."""
    check_head(run, block, number)
    results, at = run.results, {"block": block, "head": number}
    rows = [row | known(results, row["name"], at) for row in measures(results)]
    kind = str(array(results, "taxonomy/kind").isel(at).item()) if has(results, "taxonomy/kind") else None
    drawn = {
        "distances": pictures.distances(array(results, "heads/distance_profile").isel(at)),
        "map": pictures.mean_map(array(results, "heads/map").isel(at)),
    }
    return {
        "name": f"L{block}H{number}",
        "kind": kind,
        "rows": rows,
        "figures": {name: one.to_dict() for name, one in drawn.items()},
        "texts": {name: GROUPS["heads"].variables[key].text for name, key in TEXTS.items()},
    }


TEXTS = {"distances": "distance_profile", "map": "map"}


def check_head(run: Run, block: int, number: int) -> None:
    """Refuse a head that the run does not have."""
    blocks, heads = head_counts(run.results)
    if not blocks:
        raise Unknown("expected a run with heads, came one without; survey again with --heads")
    if not 0 <= block < blocks or not 0 <= number < heads:
        raise Unknown(
            f"expected a block from 0 to {blocks - 1} and a head from 0 to {heads - 1}, came L{block}H{number}"
        )


def known(results: xr.DataTree, path: str, at: dict[str, int]) -> dict[str, float | None]:
    """One head's value, its error, and where it stands among all heads (1: the highest)."""
    values = numbers(results, path)
    value = float(values[at["block"], at["head"]])
    error = float(numbers(results, f"{path}_se", **at)) if has(results, f"{path}_se") else np.nan
    place = int(np.sum(values > value)) + 1 if np.isfinite(value) else None
    return {"value": value, "se": error, "place": place, "of": int(np.isfinite(values).sum())}

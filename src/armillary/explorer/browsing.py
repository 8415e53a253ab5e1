"""What the page shows of a run without its model: facts, the registry's figures, one layer, heads and their numbers."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr

from armillary.errors import RequestError, did_you_mean
from armillary.explorer import pictures
from armillary.figures import ERRORS, FIGURES, available
from armillary.figures.position.planes import first_positions
from armillary.reporting.content import missing
from armillary.reporting.plots import naming
from armillary.results.reading import array, has, label_of, numbers, require, row_of, simulated
from armillary.results.schema import GROUPS
from armillary.results.schema.heads import SCALARS
from armillary.results.schema.naming import KINDS, SCORES
from armillary.results.schema.weights import SHOWN
from armillary.results.store import Run

LONGEST = 512
"""Prompts are never longer than this: the page holds maps of all pairs of tokens."""

EACH_HEAD = ("heads/entropy", "taxonomy/kind", "constituents/share", "weights/trace_qk")
"""Results whose first axes are block and head: any of them says how many there are."""

VIEWS = {"layers": "residual", "figures": "variance", "heads": "heads"}
"""What a view shows above all: the group whose command adds it where a run has nothing to show there."""


class Unknown(RequestError):  # noqa: N818  (it reads as a word)
    """A figure, layer, block, head or measure that this run does not have."""


def facts(run: Run) -> dict[str, Any]:
    """What a run holds, what can be chosen, and which command adds what it lacks."""
    about, results = run.provenance, run.results
    shown = ("model", "corpus", "contexts", "length", "seed", "model_kind", "random_weights", "armillary")
    blocks, heads = head_counts(results)
    return {
        "title": run.title,
        "simulation": simulated(results),
        "about": {name: str(about[name]) for name in shown if str(about.get(name, ""))},
        "layers": layer_count(results),
        "blocks": blocks or max(layer_count(results) - 1, 0),
        "heads": heads,
        "positions": known_length(results),
        "longest": longest_prompt(results),
        "pictures": layer_pictures(results),
        "figures": [{"name": figure.name, "section": figure.section} for figure in available(results)],
        "measures": measures(results),
        "kinds": KINDS,
        "errors": ERRORS,
        "empty": {view: why_empty(results, group) for view, group in VIEWS.items()},
        "missing": missing(results),
    }


def why_empty(results: xr.DataTree, group: str) -> str:
    """What a view says that has nothing to show."""
    if simulated(results):
        return "Not in this run: a simulation has no model. Its figures show what it holds."
    return f"Not in this run. `{GROUPS[group].command}` adds it."


def layer_count(results: xr.DataTree) -> int:
    """How many states the run holds; 0 where it holds none."""
    return array(results, "residual/position_basis").sizes["layer"] if has(results, "residual/position_basis") else 0


def head_counts(results: xr.DataTree) -> tuple[int, int]:
    """Blocks and heads of the run; zeros where it holds nothing of heads."""
    held = next((path for path in EACH_HEAD if has(results, path)), None)
    if held is None:
        return 0, 0
    sizes = array(results, held).sizes
    return int(sizes["block"]), int(sizes["head"])


def longest_prompt(results: xr.DataTree) -> int:
    """The most tokens of a prompt: as many as the run knows positions, where it knows any."""
    return min(known_length(results) or LONGEST, LONGEST)


def layer_pictures(results: xr.DataTree) -> list[str]:
    """The pictures that the run can show of a layer."""
    return [name for name, needs in pictures.LAYER_NEEDS.items() if all(has(results, path) for path in needs)]


def known_length(results: xr.DataTree) -> int:
    """The length of the run's windows; 0 where it holds no positions."""
    return int(first_positions(results).max()) + 1 if layer_count(results) else 0


def figure(run: Run, name: str) -> dict[str, Any]:
    """One figure of the registry with its words, which are plain text; one that fails is named."""
    offered = {figure.name: figure for figure in available(run.results)}
    if name in FIGURES and name not in offered:
        lacking = next(path for path in FIGURES[name].needs if not has(run.results, path))
        command = GROUPS[lacking.partition("/")[0]].command
        raise Unknown(f"expected a run with /{lacking} for {name}, got one without: `{command}` adds it")
    if name not in offered:
        raise Unknown(f"expected a figure of this run, got {name!r}: {did_you_mean(name, offered)}")
    chosen = offered[name]
    with naming(name):
        drawn = {"finding": chosen.finding(run.results), "figure": chosen.draw(run.results).to_dict()}
    return {"name": name, "text": chosen.text, "formula": chosen.formula, "source": chosen.source} | drawn


def layer(run: Run, number: int, name: str) -> dict[str, Any]:
    """One picture of one layer: plane, gram or spectrum."""
    require(run.results, "residual")
    count, offered = layer_count(run.results), layer_pictures(run.results)
    if not 0 <= number < count:
        raise Unknown(f"expected a layer from 0 to {count - 1}, got {number}: choose one of these")
    if name not in offered:
        raise Unknown(f"expected a picture of a layer, got {name!r}: {did_you_mean(name, offered)}")
    with naming(name):
        drawn = pictures.LAYERS[name](run.results, number).to_dict()
    return {"figure": drawn, "text": pictures.LAYER_TEXTS[name]}


def measures(results: xr.DataTree) -> list[dict[str, str]]:
    """The numbers by which heads can be coloured: what they do on text, the scores of their kinds, their weights."""
    groups: dict[str, Iterable[str]] = {"heads": SCALARS, "taxonomy": SCORES, "weights": SHOWN}
    groups["localization"] = ("xi", "eta")
    offered = [f"{group}/{name}" for group, names in groups.items() for name in names]
    rows = {path: row_of(path) for path in offered if has(results, path)}
    return [{"name": path, "label": row.label, "unit": row.unit, "text": row.text} for path, row in rows.items()]


def measure(run: Run, path: str) -> dict[str, Any]:
    """One number of every head: values by block and head, standard errors, and the heads' kinds where it has them."""
    rows = {row["name"]: row for row in measures(run.results)}
    if not rows:
        require(run.results, "heads")
    if path not in rows:
        raise Unknown(f"expected a measure of heads, got {path!r}: {did_you_mean(path, rows)}")
    kinds = array(run.results, "taxonomy/kind").values.astype(str) if has(run.results, "taxonomy/kind") else None
    return rows[path] | {
        "values": numbers(run.results, path).tolist(),
        "se": numbers(run.results, f"{path}_se").tolist() if has(run.results, f"{path}_se") else None,
        "kinds": None if kinds is None else kinds.tolist(),
    }


def head(run: Run, block: int, number: int) -> dict[str, Any]:
    """All that the run knows of one head: its numbers with errors, its distances, its mean map, its kind."""
    check_head(run, block, number)
    results, at = run.results, {"block": block, "head": number}
    kind = str(array(results, "taxonomy/kind").isel(at).item()) if has(results, "taxonomy/kind") else ""
    return {
        "name": f"L{block}H{number}",
        "kind": KINDS.get(kind, ""),
        "rows": [row | known(results, row["name"], at) for row in measures(results)],
        "figures": [head_picture(results, path, at) for path in pictures.HEADS if has(results, path)],
    }


def head_picture(results: xr.DataTree, path: str, at: dict[str, int]) -> dict[str, Any]:
    """One picture of a head, under the schema's name."""
    with naming(path):
        drawn = pictures.HEADS[path](array(results, path).isel(at))
    label = label_of(path)
    return {"title": label[:1].upper() + label[1:], "text": row_of(path).text, "figure": drawn.to_dict()}


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

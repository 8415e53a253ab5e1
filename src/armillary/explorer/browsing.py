"""What the page shows of a run without its model: facts, the registry's figures, one layer, verdicts on claims."""

from typing import Any

import xarray as xr

from armillary.errors import did_you_mean
from armillary.explorer import pictures
from armillary.explorer.heads import Unknown, head_counts, measures, named
from armillary.figures import ERRORS, FIGURES, available
from armillary.figures.position.planes import first_positions
from armillary.prompts.examples import PROMPTS
from armillary.reporting.content import missing
from armillary.reporting.plots import naming
from armillary.results.reading import array, has, require, simulated
from armillary.results.schema import GROUPS
from armillary.results.schema.kinds import adding
from armillary.results.schema.naming import KINDS
from armillary.results.store import Run
from armillary.system.texts import short
from armillary.verdicts.claim import DOCUMENTS, VERDICTS
from armillary.verdicts.labelled import verdicts_of

LONGEST = 512
"""Prompts are never longer than this: the page holds maps of all pairs of tokens."""

VIEWS = {"layers": "residual", "figures": "variance", "heads": "heads"}
"""What a view shows above all: the group whose command adds it where a run has nothing to show there."""


def facts(run: Run) -> dict[str, Any]:
    """What a run holds, what can be chosen, and which command adds what it lacks."""
    about, results = run.provenance, run.results
    shown = ("model", "corpus", "contexts", "length", "seed", "model_kind", "random_weights", "armillary")
    blocks, heads = head_counts(results)
    return {
        "title": run.title,
        "opens": opens(results),
        "simulation": simulated(results),
        "about": {name: str(about[name]) for name in shown if str(about.get(name, ""))}
        | {name: short(str(about[name])) for name in ("model", "corpus") if about.get(name)},
        "layers": layer_count(results),
        "blocks": blocks or max(layer_count(results) - 1, 0),
        "heads": heads,
        "positions": known_length(results),
        "longest": longest_prompt(results),
        "pictures": layer_pictures(results),
        "figures": [{"name": figure.name, "section": figure.section} for figure in available(results)],
        "measures": measures(results),
        "kinds": KINDS,
        "named": named(results),
        "claims": len(verdicts_of(results)),
        "prompts": PROMPTS,
        "errors": ERRORS,
        "empty": {view: why_empty(results, group) for view, group in VIEWS.items()},
        "missing": missing(results),
    }


def opens(results: xr.DataTree) -> str:
    """The view that a run opens at: the map of its heads, else its layers, figures or claims, whichever it holds."""
    held = {"heads": measures(results), "layers": layer_pictures(results), "figures": available(results)}
    return next((view for view, something in held.items() if something), "claims" if "claims" in results else "figures")


def claims(run: Run) -> dict[str, Any]:
    """The verdicts that a run holds, and what their words mean."""
    require(run.results, "claims")
    return {
        "verdicts": [verdict._asdict() for verdict in verdicts_of(run.results)],
        "words": VERDICTS,
        "documents": {letters: document.authors for letters, document in DOCUMENTS.items()},
    }


def why_empty(results: xr.DataTree, group: str) -> str:
    """What a view says that has nothing to show."""
    if simulated(results):
        return "Not in this run: a simulation has no model. Its figures show what it holds."
    return f"Not in this run. {adding(GROUPS[group].command)}."


def layer_count(results: xr.DataTree) -> int:
    """How many states the run holds; 0 where it holds none."""
    return array(results, "residual/position_basis").sizes["layer"] if has(results, "residual/position_basis") else 0


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
        raise Unknown(f"expected a run with /{lacking} for {name}, got one without: {adding(command)}")
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

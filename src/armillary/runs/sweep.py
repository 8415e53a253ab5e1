"""Train the same model with penalties of several strengths, from several seeds, and see what they do."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from armillary.errors import Number, RequestError
from armillary.results import store
from armillary.results.schema.training import FILE, SWEEP
from armillary.results.store import Run
from armillary.results.sweeping import ends, swept
from armillary.runs.train import SETTINGS, train
from armillary.runs.writing import refuse_taken, written
from armillary.system.progress import progress_of
from armillary.training.locater import refuse_kappa
from armillary.training.presets import QUICK, settings_of

CELLS = "cells"
"""The folder of the runs that a sweep is made of."""


def sweep(
    name: str = "locater",
    *,
    kappa_scale: Sequence[Number],
    kappa_trace: Sequence[Number],
    out: str | Path,
    seeds: int = 3,
    preset: str = QUICK,
    progress: bool = True,
    report: bool = True,
    **settings: Any,
) -> Run:
    """Train a preset for every pair of strengths κ₁ (`kappa_scale`) and κ₂ (`kappa_trace`) and for every seed.

    `name` and `preset` are those of `train`, whose settings may be given too. The ends of all runs, with errors over
    seeds, go to the folder `out`, and a verdict on each of the document's claims: that a stronger κ₂ shrinks the scale
    of W_QK, raises the entropy of attention, improves perplexity. Runs of one seed begin with the same weights and read
    the same text. Each run is kept below `cells`; a sweep that was stopped goes on with those that are missing. The
    folder gets a page unless `report` is False; `progress` shows the runs that are done.
    """
    scales, traces = strengths("kappa_scale", kappa_scale), strengths("kappa_trace", kappa_trace)
    if seeds < 1:
        raise RequestError(f"expected at least 1 seed, got {seeds}: choose more")
    chosen = settings_of(name, preset, **settings)
    if not chosen.geometry_every:
        raise RequestError("expected a sweep that looks at the geometry, got geometry_every 0: choose another")
    refuse_taken(out)
    cells = [(scale, trace, seed) for scale in scales for trace in traces for seed in range(seeds)]
    found = {}
    with progress_of("sweep", len(cells), show=progress) as advance:
        for scale, trace, seed in cells:
            folder = Path(out, CELLS, f"{scale:g}-{trace:g}-{seed}")
            given = {**settings, "kappa_scale": scale, "kappa_trace": trace, "seed": seed}
            found[scale, trace, seed] = ends(cell(name, folder, preset, given))
            advance(1)
    about = {"trained": name, "preset": preset, "model": f"{name}, swept", "seeds": seeds}
    kept = {key: value for key, value in chosen.as_plain().items() if key not in ("kappa_scale", "kappa_trace", "seed")}
    return written({SWEEP: swept(found, scales, traces, seeds)}, {**about, **kept}, out=out, report=report)


def strengths(what: str, values: Sequence[Number]) -> list[float]:
    """Strengths in rising order, each once; refused where there are none or one is no strength."""
    for value in values:
        refuse_kappa(what, value)
    if not len(values):
        raise RequestError(f"expected at least one {what}, got none: give some, such as 0,1")
    return sorted({float(value) for value in values})


def cell(name: str, folder: Path, preset: str, settings: dict[str, Any]) -> Run:
    """One run of a sweep: as it is where it is finished, resumed where it was stopped."""
    if (folder / FILE).exists():
        return store.open(folder)
    resume = (folder / SETTINGS).exists()
    return train(name, out=folder, preset=preset, resume=resume, progress=False, report=False, **settings)

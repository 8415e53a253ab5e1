"""Training runs of several penalties and seeds as one labelled table, and the document's claims on it."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from armillary.measures.errors.seeds import claimed_change, seed_mean
from armillary.results.measuring import described
from armillary.results.schema.training import OF_HEADS, SWEEP, TRAINING
from armillary.results.store import Run

Cell = tuple[float, float, int]
"""κ₁, κ₂ and the seed of a run."""

CLAIMS = {"scale shrinks": ("scale_qk", -1), "entropy rises": ("entropy", 1), "perplexity improves": ("perplexity", -1)}
"""What the document says a stronger penalty does: of which result, and to which side."""

WITHOUT_TRACE, WITHOUT = "κ₂ = 0, same κ₁", "no penalty"


def ends(run: Run) -> dict[str, float]:
    """The numbers at the end of a training run."""
    geometry = run.results[OF_HEADS].to_dataset().isel(step=-1)
    losses = run.results[TRAINING].loss_validation.values
    return {
        "scale_qk": float((geometry.frobenius_qk**2).mean()),
        "trace_qk": float(geometry.trace_qk.mean()),
        "entropy": float(geometry.entropy.mean()),
        "signal_propagation": float(geometry.signal_propagation.mean()),
        "perplexity": float(np.exp(losses[np.isfinite(losses)][-1])),
    }


def swept(
    found: Mapping[Cell, dict[str, float]], scales: Sequence[float], traces: Sequence[float], seeds: int
) -> xr.Dataset:
    """Means and errors over seeds for every pair of strengths, and a verdict on each claim."""
    names = next(iter(found.values()))
    axes = ("kappa_scale", "kappa_trace")
    values: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
    for name in names:
        each = np.array(
            [[[found[scale, trace, seed][name] for seed in range(seeds)] for trace in traces] for scale in scales]
        )
        mean, error = seed_mean(each)
        values |= {name: (axes, mean), f"{name}_se": (axes, error), f"{name}_seeds": ((*axes, "seed"), each)}
    coordinates = {"kappa_scale": list(scales), "kappa_trace": list(traces), "seed": list(range(seeds))}
    table = xr.Dataset(values, coords=coordinates)
    return described(SWEEP, table.merge(judged(table)).assign_attrs(groups=seeds))


def judged(table: xr.Dataset) -> xr.Dataset:
    """The claims at the strongest penalty against κ₂ = 0 at the same κ₁, and against no penalty, where these are."""
    strongest = table.isel(kappa_scale=-1, kappa_trace=-1)
    baselines = {}
    if table.kappa_trace.values[0] == 0 and table.sizes["kappa_trace"] > 1:
        baselines[WITHOUT_TRACE] = table.isel(kappa_scale=-1, kappa_trace=0)
    if table.kappa_trace.values[0] == 0 and table.kappa_scale.values[0] == 0 and table.kappa_scale.values[-1] > 0:
        baselines[WITHOUT] = table.isel(kappa_scale=0, kappa_trace=0)
    shape = (len(CLAIMS), len(baselines))
    change, error = np.full(shape, np.nan), np.full(shape, np.nan)
    verdict = np.full(shape, "not determined", dtype="<U40")
    for row, (name, sign) in enumerate(CLAIMS.values()):
        for column, beside in enumerate(baselines.values()):
            differences = (strongest[f"{name}_seeds"] - beside[f"{name}_seeds"]).values
            change[row, column], error[row, column] = seed_mean(differences)
            verdict[row, column] = claimed_change(differences, sign)
    along = ("claim", "baseline")
    return xr.Dataset(
        {"change": (along, change), "change_se": (along, error), "verdict": (along, verdict)},
        coords={"claim": list(CLAIMS), "baseline": list(baselines)},
    )

"""Read the weights of a model: spectra of heads and matrices, with no pass of the model."""

from pathlib import Path

import xarray as xr

from armillary.models.view import View
from armillary.probes.norms import norm_groups
from armillary.probes.weights import LENGTH, weight_groups
from armillary.results import measuring
from armillary.results.store import Run
from armillary.runs.keeping import kept, refuse_unfit
from armillary.system.progress import progress_of

COVARIANCE = "covariance"


def weights(
    view: View,
    run: Run | None = None,
    *,
    out: str | Path | None = None,
    seed: int = 0,
    progress: bool = True,
    report: bool = True,
) -> Run:
    """The spectra of every head's W_QK and W_VO and of every matrix, beside their nulls and the random-weight control.

    Nothing runs through the model, and one block is in memory at a time. With `run`, a run of this model, the spectra
    are added to it, and where it holds the covariance of the attentions' inputs also the data-weighted ones. With
    `out` they are written to that folder, which gets a page too unless `report` is False. `seed` draws the control,
    `progress` shows the blocks that are done.
    """
    refuse_unfit(run, view, out)
    with progress_of(f"{view.name}: weights", view.n_blocks, show=progress) as advance:
        groups = weight_groups(view, seed, advance, length=length_of(run), covariance=covariance_of(run))
    heads = {} if run is None or "heads" not in run.results.children else {"heads": run.results["heads"].to_dataset()}
    groups |= measuring.measured({**groups, **heads}) | norm_groups(view, run)
    return kept(groups, view, run, out=out, report=report, seed=seed)


def length_of(run: Run | None) -> int:
    """The window in which keys are localised: the run's own, else the one of the document's figure."""
    return LENGTH if run is None else int(run.provenance.get("length", LENGTH))


def covariance_of(run: Run | None) -> xr.DataArray | None:
    """The covariance of the attentions' inputs, where a run holds it."""
    if run is None or "attention" not in run.results.children:
        return None
    held = run.results["attention"].to_dataset()
    return held.get(COVARIANCE)

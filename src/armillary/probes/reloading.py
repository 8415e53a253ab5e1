"""A run's model again: loaded from where the run says, and refused where it is another."""

from typing import Any

from armillary.errors import RequestError, SourceError
from armillary.models import View, load
from armillary.results.reading import simulated
from armillary.results.store import Run


def of_memory(run: Run) -> bool:
    """Whether the run was made of a model in memory, which nothing can load again."""
    return run.provenance.get("model_kind") == "loaded model"


def reloaded(run: Run, **options: Any) -> View:
    """The run's model, loaded again from its provenance, with `options` as in `load`."""
    about = run.provenance
    if "model" not in about or "dtype" not in about:
        raise RequestError(f"expected {shown(run)} to name its model, got no provenance: give the model as view")
    if of_memory(run):
        raise RequestError(
            f"expected {shown(run)} to name a model that can be loaded, got one made in memory: give it as view"
        )
    seed = str(about.get("random_weights", "")).removeprefix("seed ")
    return load(
        about["model"],
        dtype=about["dtype"],
        device=about.get("device"),
        revision=about.get("revision") or None,
        random_weights=int(seed) if seed else None,
        **options,
    )


def refuse_another(run: Run, view: View) -> None:
    """Refuse a model that is not the run's own; weights that are not in memory have no hash to compare."""
    if simulated(run.results):
        raise SourceError(f"expected a run of {view.name}, got {shown(run)}, a simulation: give a run of this model")
    then, now = (str(about.get("model_sha256", "")) for about in (run.provenance, view.provenance))
    if then and now and then != now:
        raise SourceError(
            f"expected the model of {shown(run)} ({run.provenance.get('model')}, sha256 {then[:12]}…), "
            f"got {view.name} (sha256 {now[:12]}…): survey this model, or load that one"
        )


def shown(run: Run) -> str:
    """How to speak of a run."""
    return str(run.folder) if run.folder else "this run"

"""Armillary: an instrument for the hidden geometry of transformers.

The public names, in the order of the data flow. Each is imported when it is first used, so that `import armillary`
and `armillary --help` need neither torch nor transformers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from armillary._version import __version__
from armillary.errors import (
    ArmillaryError,
    BrokenContract,
    NonFiniteError,
    RequestError,
    SourceError,
    StoreError,
)

if TYPE_CHECKING:
    from armillary.corpora import corpus, windows
    from armillary.explorer import explore
    from armillary.models import View, load
    from armillary.models.interventions import randomised, scaled, without_head
    from armillary.printing.heads import heads_table
    from armillary.printing.layers import table
    from armillary.probes.constituents import constituents
    from armillary.probes.dissection import weight_dissection
    from armillary.probes.qk_smoothness import qk_smoothness
    from armillary.prompts.continuation import continuation
    from armillary.prompts.prompt import prompt
    from armillary.reporting import report
    from armillary.reporting.static import figure
    from armillary.results.comparing import compare
    from armillary.results.store import Run, open
    from armillary.runs.claims import claims
    from armillary.runs.gaussian import gaussian
    from armillary.runs.heads import heads
    from armillary.runs.measure import measure
    from armillary.runs.merge import merge
    from armillary.runs.plan import plan
    from armillary.runs.simulate import simulate
    from armillary.runs.stores import stores
    from armillary.runs.survey import survey
    from armillary.runs.sweep import sweep
    from armillary.runs.train import train
    from armillary.runs.travel import travel
    from armillary.runs.weights import weights
    from armillary.surveys.settings import Settings
    from armillary.training.callback import GeometryCallback
    from armillary.training.geometry import geometry
    from armillary.training.locater import locater_penalty
    from armillary.training.trainer import LocaterTrainer

__all__ = [
    "ArmillaryError",
    "BrokenContract",
    "GeometryCallback",
    "LocaterTrainer",
    "NonFiniteError",
    "RequestError",
    "Run",
    "Settings",
    "SourceError",
    "StoreError",
    "View",
    "__version__",
    "claims",
    "compare",
    "constituents",
    "continuation",
    "corpus",
    "explore",
    "figure",
    "gaussian",
    "geometry",
    "heads",
    "heads_table",
    "load",
    "locater_penalty",
    "measure",
    "merge",
    "open",
    "plan",
    "prompt",
    "qk_smoothness",
    "randomised",
    "report",
    "scaled",
    "simulate",
    "stores",
    "survey",
    "sweep",
    "table",
    "train",
    "travel",
    "weight_dissection",
    "weights",
    "windows",
    "without_head",
]

_HOME = {
    "load": "armillary.models",
    "View": "armillary.models",
    "corpus": "armillary.corpora",
    "windows": "armillary.corpora",
    "survey": "armillary.runs.survey",
    "heads": "armillary.runs.heads",
    "weights": "armillary.runs.weights",
    "stores": "armillary.runs.stores",
    "simulate": "armillary.runs.simulate",
    "claims": "armillary.runs.claims",
    "gaussian": "armillary.runs.gaussian",
    "travel": "armillary.runs.travel",
    "train": "armillary.runs.train",
    "sweep": "armillary.runs.sweep",
    "locater_penalty": "armillary.training.locater",
    "LocaterTrainer": "armillary.training.trainer",
    "geometry": "armillary.training.geometry",
    "GeometryCallback": "armillary.training.callback",
    "prompt": "armillary.prompts.prompt",
    "continuation": "armillary.prompts.continuation",
    "constituents": "armillary.probes.constituents",
    "qk_smoothness": "armillary.probes.qk_smoothness",
    "weight_dissection": "armillary.probes.dissection",
    "scaled": "armillary.models.interventions",
    "randomised": "armillary.models.interventions",
    "without_head": "armillary.models.interventions",
    "Run": "armillary.results.store",
    "open": "armillary.results.store",
    "table": "armillary.printing.layers",
    "heads_table": "armillary.printing.heads",
    "Settings": "armillary.surveys.settings",
    "measure": "armillary.runs.measure",
    "merge": "armillary.runs.merge",
    "plan": "armillary.runs.plan",
    "compare": "armillary.results.comparing",
    "explore": "armillary.explorer",
    "report": "armillary.reporting",
    "figure": "armillary.reporting.static",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'armillary' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__

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
    from armillary.capture.constituents import constituents
    from armillary.capture.dissection import weight_dissection
    from armillary.capture.naming import heads
    from armillary.capture.prompt import continuation, prompt
    from armillary.capture.qk_smoothness import qk_smoothness
    from armillary.capture.survey import survey
    from armillary.comparison import compare
    from armillary.corpora import corpus, windows
    from armillary.explorer import explore
    from armillary.models import View, load
    from armillary.models.interventions import randomised, scaled, without_head
    from armillary.printing.layers import table
    from armillary.reporting import report
    from armillary.reporting.static import figure
    from armillary.results import measure
    from armillary.store import Run, open

__all__ = [
    "ArmillaryError",
    "BrokenContract",
    "NonFiniteError",
    "RequestError",
    "Run",
    "SourceError",
    "StoreError",
    "View",
    "__version__",
    "compare",
    "constituents",
    "continuation",
    "corpus",
    "explore",
    "figure",
    "heads",
    "load",
    "measure",
    "open",
    "prompt",
    "qk_smoothness",
    "randomised",
    "report",
    "scaled",
    "survey",
    "table",
    "weight_dissection",
    "windows",
    "without_head",
]

_HOME = {
    "load": "armillary.models",
    "View": "armillary.models",
    "corpus": "armillary.corpora",
    "windows": "armillary.corpora",
    "survey": "armillary.capture.survey",
    "heads": "armillary.capture.naming",
    "prompt": "armillary.capture.prompt",
    "continuation": "armillary.capture.prompt",
    "constituents": "armillary.capture.constituents",
    "qk_smoothness": "armillary.capture.qk_smoothness",
    "weight_dissection": "armillary.capture.dissection",
    "scaled": "armillary.models.interventions",
    "randomised": "armillary.models.interventions",
    "without_head": "armillary.models.interventions",
    "Run": "armillary.store",
    "open": "armillary.store",
    "table": "armillary.printing.layers",
    "measure": "armillary.results",
    "compare": "armillary.comparison",
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

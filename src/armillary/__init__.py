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
    from armillary.capture.survey import survey
    from armillary.corpora import corpus, windows
    from armillary.models import View, load
    from armillary.printing import table
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
    "corpus",
    "load",
    "open",
    "survey",
    "table",
    "windows",
]

_HOME = {
    "load": "armillary.models",
    "View": "armillary.models",
    "corpus": "armillary.corpora",
    "windows": "armillary.corpora",
    "survey": "armillary.capture.survey",
    "Run": "armillary.store",
    "open": "armillary.store",
    "table": "armillary.printing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'armillary' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__

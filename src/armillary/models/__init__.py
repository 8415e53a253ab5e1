"""What a checkpoint is: the only folder that knows. Names load on first use, so that listing needs no torch.

`view` is the model as the rest sees it, with the only call of it; `hooks` the only place where hooks are installed.
`families` is the table of module paths, `weights` reads per-head matrices by it, `parts` splits queries and keys.
`states` and `attention` read a pass while it runs, `contract` checks that reading at load, `interventions` change
weights for as long as a `with` lasts. `sources` is where a checkpoint comes from.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from armillary.models.sources.named import NAMED, Named

if TYPE_CHECKING:
    from armillary.models.attention import AttentionCall, attention_calls, rotate
    from armillary.models.families import FAMILIES, Family
    from armillary.models.sources.loading import load
    from armillary.models.view import View
    from armillary.models.weights import Heads, Norm

__all__ = [
    "FAMILIES",
    "NAMED",
    "AttentionCall",
    "Family",
    "Heads",
    "Named",
    "Norm",
    "View",
    "attention_calls",
    "load",
    "rotate",
]

_HOME = {
    "load": "sources.loading",
    "View": "view",
    "FAMILIES": "families",
    "Family": "families",
    "Heads": "weights",
    "Norm": "weights",
    "AttentionCall": "attention",
    "attention_calls": "attention",
    "rotate": "attention",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with warnings.catch_warnings():  # of bars that a notebook without widgets lacks; none of them is ever shown here
        warnings.filterwarnings("ignore", "IProgress not found")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)

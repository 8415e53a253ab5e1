"""The only folder that knows what a checkpoint looks like; names load on first use, so that listing needs no torch."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from armillary.models.sources.named import NAMED, Named, describe

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
    "describe",
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
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)

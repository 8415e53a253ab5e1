"""A live page for a run: browse its results, and ask its model questions. On this machine alone."""

from armillary.explorer.serving import explore

__all__ = ["explore"]

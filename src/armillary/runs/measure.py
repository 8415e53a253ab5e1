"""Measure a run again; nothing here needs the model or torch."""

from pathlib import Path

from armillary.results.measuring import remeasured
from armillary.results.store import Run
from armillary.runs.page import refreshed


def measure(folder: str | Path) -> Run:
    """Measure a run again from what its pass kept, as after an upgrade; needs neither the model nor torch."""
    return refreshed(remeasured(Path(folder)))

"""Measure a run again; nothing here needs the model or torch."""

from pathlib import Path

from armillary.results.measuring import remeasured
from armillary.results.store import Run
from armillary.runs.page import refreshed


def measure(folder: str | Path) -> Run:
    """Measure a run again from the sums of its pass, as after an upgrade, and refresh its page."""
    return refreshed(remeasured(Path(folder)))

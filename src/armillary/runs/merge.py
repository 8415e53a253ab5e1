"""Join the parts of a survey that several processes ran: the same bits as one pass gives."""

from collections.abc import Sequence
from pathlib import Path

from armillary.results.store import Run
from armillary.runs.page import with_page
from armillary.runs.writing import refuse_taken
from armillary.surveys.merging import merged_parts


def merge(parts: Sequence[str | Path], *, out: str | Path, progress: bool = True, report: bool = True) -> Run:
    """The run of a survey whose parts were run one by one, with `shard="1/4"` and so on, in any order; needs no model.

    All parts must be there, each once, and of one survey. The run is written to the folder `out`, which gets a page too
    unless `report` is False; the parts stay where they are. `progress` shows how many are read.
    """
    refuse_taken(out)
    run = merged_parts([Path(part) for part in parts], folder=Path(out), progress=progress)
    return with_page(run) if report else run

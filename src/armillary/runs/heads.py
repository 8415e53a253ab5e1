"""Add to a run the kinds of its heads."""

from typing import Any

from armillary.models.view import View
from armillary.probes.naming import named
from armillary.results.store import Run
from armillary.runs.page import refreshed


def heads(run: Run, view: View | None = None, *, progress: bool = True, **options: Any) -> Run:
    """The run with the kind of every head: induction, duplicate-token, previous-token, attention sink, local, uniform.

    Reads a few windows of repeated random tokens, with the model and with its random-weight control, and a few of the
    run's own windows with the control. Where the run holds the attention's inputs, a few of its windows are read once
    more with the model for what position does in every head: the shares of the nine constituents of the logits, the
    weights along the position directions, the smoothness of the scores, and an example of one head. The model is loaded
    again from the run's provenance, with `options` as in `load`, unless `view` gives it. What is there is not read
    again, what an earlier version did not know is added. A run in a folder keeps it there, and its page follows.
    `progress` shows the passes.
    """
    found = named(run, view, progress=progress, **options)
    return found if found is run else refreshed(found)

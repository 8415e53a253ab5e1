"""Add to a run what its heads do, by name."""

from typing import Any

from armillary.models.view import View
from armillary.probes.naming import named
from armillary.results.store import Run
from armillary.runs.page import refreshed


def heads(run: Run, view: View | None = None, *, progress: bool = True, **options: Any) -> Run:
    """The run with its heads named: induction, duplicate, previous, sink, local, uniform, each score beside its null.

    Reads a few windows of random tokens that come twice, with the model and with its random twin, and a few of the
    run's own windows with the twin; then, where the run has the attentions' inputs, a few of its windows once more with
    the model, for what position does in every head: the shares of the nine constituents in the logits, the weights
    along the position directions, the smoothness of the scores, and an example of one head. The model is loaded again
    from where the run says it came, with `options` as in `load`, unless `view` gives it. What is there is not read
    again, what an earlier version did not know is added; a run in a folder keeps it there, and its page follows.
    """
    found = named(run, view, progress=progress, **options)
    return found if found is run else refreshed(found)

"""The page of a run follows the run."""

import shlex

from armillary.errors import StoreError
from armillary.results.store import Run
from armillary.system.progress import say


def with_page(run: Run) -> Run:
    """The run, its report written beside its results; a full disk costs the page alone."""
    from armillary.reporting import report  # plotly is loaded when there is something to draw

    if run.folder is not None:
        try:
            report(run)
        except StoreError as error:
            again = shlex.join(["armillary", "report", str(run.folder)])
            say(f"warning: {error}; the results are complete, `{again}` tries again")
    return run


def refreshed(run: Run) -> Run:
    """The run, its report written again where it has one."""
    from armillary.reporting import PAGE

    return with_page(run) if run.folder is not None and (run.folder / PAGE).exists() else run

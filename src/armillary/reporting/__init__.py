"""The report of a run: one self-contained page of answers, figures and provenance, for one run or for two."""

from pathlib import Path

from armillary.errors import RequestError
from armillary.reporting.comparison import comparison_report
from armillary.reporting.content import run_report
from armillary.reporting.page import page
from armillary.results.store import Run, opened
from armillary.system.files import write_text
from armillary.system.threads import one_core_each

PAGE = "report.html"
"""Where the page of a run stands in its folder."""


def report(run: Run | str | Path, out: str | Path | None = None, other: Run | str | Path | None = None) -> Path:
    """Write the report of a run, or of two side by side, as one self-contained HTML file.

    `run` and `other` are runs or their folders. Without `out` the page goes into the folder of the run, as
    report.html, or comparison.html where there are two. Returns the path of the file.
    """
    first = opened(run)
    name = PAGE if other is None else "comparison.html"
    if out is None and first.folder is None:
        raise RequestError(f"expected a file for the page of a run without a folder, got none: report(run, {name!r})")
    path = Path(out) if out is not None else Path(first.folder or "", name)
    with one_core_each():
        content = run_report(first) if other is None else comparison_report(first, opened(other))
    write_text(path, page(content))
    return path


__all__ = ["PAGE", "report"]

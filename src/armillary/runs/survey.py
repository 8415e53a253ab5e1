"""Make a run: one pass of a text through a model."""

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Any

from armillary.models.view import View
from armillary.results.store import Run
from armillary.runs.page import with_page
from armillary.surveys.settings import Settings
from armillary.surveys.survey import surveyed


def survey(
    view: View,
    source: Any,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool = True,
    report: bool = True,
    **settings: Any,
) -> Run:
    """Read a text once and measure how the hidden states split into position and context.

    `source` is a corpus or anything that `corpus` takes; the keywords are those of `Settings`. With `out` the run is
    written to that folder, checkpointed after each shard, and can be resumed; without, it stays in memory. A run that
    is written gets its page too, report.html, unless `report` is False.
    """
    folder = Path(out) if out is not None else None
    run = surveyed(view, source, Settings.of(**settings), folder=folder, resume=resume, progress=progress)
    return with_page(run) if report else run


def _signature() -> inspect.Signature:
    shown = inspect.signature(survey)
    own = [p for p in shown.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    more = [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type)
        for f in fields(Settings)
    ]
    return shown.replace(parameters=[*own, *more])


# The settings are written down once; help() and notebooks show them all.
survey.__signature__ = _signature()  # type: ignore[attr-defined]

"""Make a run: one pass of a text through a model."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from armillary.models.view import View, refuse_unloaded
from armillary.results.store import Run
from armillary.runs.page import with_page
from armillary.surveys.settings import Settings, documented
from armillary.surveys.survey import surveyed


def with_settings(record: type) -> Callable[[Callable[..., Run]], Callable[..., Run]]:
    """Give a function whose last parameter is **settings the fields of a record, in its signature and docstring."""

    def shown(function: Callable[..., Run]) -> Callable[..., Run]:
        own = inspect.signature(function)
        *named, _ = own.parameters.values()
        more = [
            inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
            for each in fields(record)
        ]
        function.__signature__ = own.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
        function.__doc__ = documented(function, record)
        return function

    return shown


@with_settings(Settings)
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
    """Read a text once and measure how the hidden states split into position, context and residual.

    `view` is a model as `load` gives it, `source` a corpus or anything that `corpus` takes. With `out` the run is
    written to that folder and checkpointed after each shard; `resume` continues one that was stopped there, to the same
    bits. Without `out` it stays in memory. A run that is written gets its page too, report.html, unless `report` is
    False. With `shard` the folder gets a part of the run, to be joined by `merge`, and the run that is returned holds
    no results yet. `progress` shows how far the pass is.
    """
    refuse_unloaded(view)
    folder, chosen = Path(out) if out is not None else None, Settings.of(**settings)
    run = surveyed(view, source, chosen, folder=folder, resume=resume, progress=progress)
    return with_page(run) if report and chosen.shard is None else run

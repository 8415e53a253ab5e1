"""What a survey will cost, before it is made."""

from typing import Any

from armillary.errors import RequestError
from armillary.models.view import View, refuse_unloaded
from armillary.surveys.costs import Cost, cost_of
from armillary.surveys.settings import Settings


def plan(view: View, source: Any = "python-docs", *, workers: int = 1, **settings: Any) -> Cost:
    """Time, memory, disk and network of a survey with these settings, from a calibration of two shards of the text.

    `source` and `settings` are those of `survey`. With `workers` the figures are those of that number of machines like
    this one. With `until_se` it also says how many windows that standard error needs.
    """
    refuse_unloaded(view)
    if workers < 1:
        raise RequestError(f"expected workers of at least 1, got {workers}: choose a larger one")
    return cost_of(view, source, Settings.of(**settings), workers=workers)

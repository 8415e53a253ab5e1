"""Who runs the shards of a survey. An engine is loaded when it is asked for: not every one is installed everywhere."""

from collections.abc import Callable
from typing import Any

from armillary.surveys.settings import Settings


def engine(chosen: Settings) -> Callable[..., Any]:
    """The engine that the settings name: a function of a view, a plan, a report and a checkpoint, as `local` is."""
    if chosen.engine == "ray":
        from armillary.surveys.engines.ray import on_ray

        return on_ray(chosen.workers)
    from armillary.surveys.engines.local import local

    return local

"""What a question is, and what can be said to it."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Bool

from armillary.reporting.kinds import NO, UNCLEAR, YES, Curve


class Said(NamedTuple):
    """A verdict, a sentence of at most 20 words with one number and its interval, and a small curve."""

    verdict: str
    text: str
    curve: Curve | None = None


class Question(NamedTuple):
    """A question, the figures that answer it, best first, what a run says, and the group that it needs.

    The group is named where a run without it is told which command would answer. The figure of a question that leads
    is shown unfolded.
    """

    text: str
    figures: tuple[str, ...]
    tell: Callable[[xr.DataTree], Said | None]
    group: str = ""
    lead: bool = True


def by_most(mask: Bool[np.ndarray, " layer"], known: Bool[np.ndarray, " layer"] | None = None) -> str:
    """Yes where it is so in more than half of the layers that are known, no where in none, else unclear."""
    known = np.ones_like(mask) if known is None else known
    count = int((mask & known).sum())
    return YES if 2 * count > int(known.sum()) else UNCLEAR if count or not known.any() else NO

"""Lengths of the states."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from armillary.measures.jackknife import standard_error


class Norm(NamedTuple):
    """A mean norm and its standard error over documents."""

    norm: float
    norm_se: float


def norm(norm_groups: Float[np.ndarray, "group position"], group: Int[np.ndarray, "context"]) -> Norm:
    """Mean ‖h‖ of the kept tokens, in units of the stream, positions weighted alike."""
    sizes = np.bincount(group, minlength=len(norm_groups)).astype(np.float64)
    each = np.nanmean(norm_groups, 1)
    whole = float(np.average(each, weights=sizes))
    rest = sizes.sum() - sizes
    without = (whole * sizes.sum() - sizes * each) / np.where(rest > 0, rest, np.nan)
    return Norm(whole, float(standard_error(whole, without, sizes)))

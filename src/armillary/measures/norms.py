"""Lengths of the states."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from armillary.measures.errors.groups import group_mean


class Norm(NamedTuple):
    """A mean norm and its standard error over documents."""

    norm: float
    norm_se: float


def norm(norm_groups: Float[np.ndarray, "group position"], group: Int[np.ndarray, "context"]) -> Norm:
    """Mean ‖h‖ of the kept tokens, in units of the stream, positions weighted alike."""
    found = group_mean(np.nanmean(norm_groups, 1), np.bincount(group, minlength=len(norm_groups)))
    return Norm(float(found.mean), float(found.se))

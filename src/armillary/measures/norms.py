"""Lengths of the states."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from armillary.measures.errors.groups import means_without
from armillary.measures.errors.jackknife import standard_error


class Norm(NamedTuple):
    """A mean norm, its standard error over documents, and the mean without each group of them."""

    norm: float
    norm_se: float
    norm_without: Float[np.ndarray, "group"]


def norm(norm_groups: Float[np.ndarray, "group position"], group: Int[np.ndarray, "context"]) -> Norm:
    """Mean ‖h‖ of the kept tokens, in units of the stream, positions weighted alike."""
    whole, without = means_without(np.nanmean(norm_groups, 1), np.bincount(group, minlength=len(norm_groups)))
    return Norm(float(whole), float(standard_error(without)), without)

"""What Wertich (2024) says of trained weights, as numbers of heads and matrices: aligned like random, pressed down."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import stats

from armillary.measures.errors.shares import LEVEL, Share, Verdict, share_above, share_below

MOST = 0.5
"""The document speaks of most layers: a claim holds where more than half of the cases are certain to bear it out."""


class Alignment(NamedTuple):
    """The share of heads aligned unlike random factors, with its interval; the median |z|, 0.67 for random factors.

    `negative` is the share of heads that are so with a negative trace: queries and keys point away from each other.
    """

    verdict: Verdict
    share: float
    low: float
    high: float
    median: float
    negative: float


class Pressed(NamedTuple):
    """The share of matrices pressed down, with its interval; medians of energy over initial, and of values below."""

    verdict: Verdict
    share: float
    low: float
    high: float
    energy: float
    below: float


def aligned_like_random(trace_z: Float[np.ndarray, "*head"]) -> Alignment:
    """Whether most heads' W_Q and W_K are aligned like independent factors: few |z| are significant.

    `trace_z` follow the standard normal law for independent factors. A head counts as aligned otherwise where its |z|
    is significant at 5 % for all heads jointly (Bonferroni). The claim holds where the interval of their share lies
    below one half, and does not where it lies above.
    """
    known = trace_z[np.isfinite(trace_z)]
    unlike = np.abs(known) > stats.norm.isf(LEVEL / (2 * max(known.size, 1)))
    found: Share = share_below(unlike, MOST)
    if not known.size:
        return Alignment(*found, float("nan"), float("nan"))
    return Alignment(*found, float(np.median(np.abs(known))), float(np.mean(unlike & (known < 0))))


def pressed_down(energy: Float[np.ndarray, "*matrix"], below: Float[np.ndarray, "*matrix"]) -> Pressed:
    """Whether most matrices are pressed down: less energy than initially, and most singular values smaller.

    `energy` is ‖W‖² over its initial value, `below` the share of singular values that are smaller, rank by rank.
    """
    known = np.isfinite(energy) & np.isfinite(below)
    found: Share = share_above((energy[known] < 1) & (below[known] > 0.5), MOST)
    if not known.any():
        return Pressed(*found, float("nan"), float("nan"))
    return Pressed(*found, float(np.median(energy[known])), float(np.median(below[known])))


def beside_control(
    singular_value: Float[np.ndarray, "*matrix mode"], control: Float[np.ndarray, "*matrix mode"]
) -> tuple[Float[np.ndarray, "*matrix"], Float[np.ndarray, "*matrix"]]:
    """‖W‖² over that of the random-weight control's matrix, and the share of singular values below its, by rank.

    Both may be followed by NaN. NaN where the control's matrix is zero.
    """
    known = np.isfinite(singular_value) & np.isfinite(control)
    own, other = (np.sum(np.where(known, values, 0.0) ** 2, axis=-1) for values in (singular_value, control))
    energy = np.divide(own, other, out=np.full_like(own, np.nan), where=other > 0)
    below = np.sum(known & (singular_value < control), axis=-1) / np.maximum(known.sum(axis=-1), 1)
    return energy, np.where(np.isnan(energy), np.nan, below)

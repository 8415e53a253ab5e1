"""Where on the (ξ, η) plane a head lies: late, middle, early, uniform or vanishing, and focus that clipping makes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped

from armillary.measures.localization.law import Shares, gaussian_shares
from armillary.measures.localization.walk import Values, moments

VANISHING = 0.1
"""The signal vanishes where no position has a ρ of this much."""

FOCUS = 0.5
"""A position is in focus where its ρ is at least this share of the largest."""

Profile = Float[np.ndarray, "*head position"]


class Regimes(NamedTuple):
    """A name for each head, and whether a middle focus is made by clipping at 1."""

    regime: Shaped[np.ndarray, "*head"]
    clipped: Bool[np.ndarray, "*head"]


class Window(NamedTuple):
    """The first and the last u at which the mean of g_i lies in [0, 1]; positions have |u| ≤ (T − 1)/(2T)."""

    first: Float[np.ndarray, "*head"]
    last: Float[np.ndarray, "*head"]


def regimes(below: Profile, rho: Profile) -> Regimes:
    """Names from the profile of ρ over all positions in order, exact or Gaussian; empty where ρ is NaN.

    vanishing: every ρ_i < 0.1. Otherwise a position is in focus where ρ_i ≥ ½ max ρ, and the two ends decide. uniform:
    both in focus; late: the last alone; early: the first alone; middle: neither. For small noise (η → 0) these are the
    limits of `window`: uniform up to |tr W| = 2/(T − 1), late or early up to |tr W| = 2, middle beyond.

    clipped: a middle focus that P(g_i ≥ 0) does not have, as one of the ends is in its focus. The signal is lost there
    because S̃ is cut at 1, not for want of attention: the softmax itself focuses on that end. For a Gaussian g_i every
    middle focus is of this kind, since at the end to which the trace points E g_i ≥ 1/T and P(g_i ≥ 0) > ½. Shares
    measured on text may have another.
    """
    largest = rho.max(axis=-1)
    first, last = _ends_in_focus(rho)
    named = np.where(first, np.where(last, "uniform", "early"), np.where(last, "late", "middle"))
    named = np.where(largest < VANISHING, "vanishing", named)
    named = np.where(np.isnan(largest), "", named)
    return Regimes(named, np.asarray((named == "middle") & np.logical_or(*_ends_in_focus(1 - below))))


def window(trace: Values, length: int) -> Window:
    """Offsets u, in units of T, at which 0 ≤ E g_i ≤ 1: from −1/(T r) to (1 − 1/T)/r for r = tr W > 0, mirrored below.

    The published window has 0 and 1/r, the limit of large T. Without trace the mean is 1/T everywhere: ±∞.
    """
    r = np.asarray(trace, dtype=np.float64)
    safe = np.where(r == 0, np.nan, r)
    with np.errstate(over="ignore"):  # a trace of almost nothing has a window without end
        zero, one = -1 / (length * safe), (1 - 1 / length) / safe
    first, last = np.minimum(zero, one), np.maximum(zero, one)
    return Window(np.where(r == 0, -np.inf, first), np.where(r == 0, np.inf, last))


def plane_shares(xi: Values, eta: Values, length: int) -> Shares:
    """Gaussian probabilities of g_i with exact moments, for symmetric W_QK at (ξ, η): tr W = ξη and tr W² = η²."""
    square = np.asarray(eta, dtype=np.float64) ** 2
    return gaussian_shares(*moments(np.asarray(xi * eta), square, square, length))


def _ends_in_focus(profile: Profile) -> tuple[Bool[np.ndarray, "*head"], Bool[np.ndarray, "*head"]]:
    """Whether the first and the last position reach half of the largest value."""
    level = FOCUS * profile.max(axis=-1)
    return np.asarray(profile[..., 0] >= level), np.asarray(profile[..., -1] >= level)

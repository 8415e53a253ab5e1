"""The Tracy–Widom law F₁: how far the largest eigenvalue of real Gaussian noise lies above its edge."""

from functools import lru_cache

import numpy as np
from jaxtyping import Float
from numpy.polynomial import Chebyshev, chebyshev, legendre
from scipy.optimize import brentq
from scipy.special import airy, airye

LOWEST, HIGHEST = -10.0, 8.0
"""Between them log(1 − F₁) is a polynomial; below, F₁ < 1e-21; above, 1 − F₁ is its first term to 10 digits."""

NODES = 72
"""Chebyshev nodes of the polynomial, which leave an error of 1e-11; with 40 it would be 3e-7."""

ORDER = 40
"""Gauss–Legendre nodes of the determinant: from here on only rounding is left."""

FADED = 16.0
"""Ai is below 1e-19 from here on; integrals end there."""

VANISHED = 200.0
"""1 − F₁ is too small for a double long before."""


def survival(x: float | Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """P(X > x) = 1 − F₁(x) for the Tracy–Widom law of β = 1, 0 to 1, of the shape of x.

    Relative error below 1e-10, in the far right tail too, where it is ½ ∫ₓ^∞ Ai; 0 where that underflows, from about
    x = 105. The first call takes a tenth of a second, later ones a tenth of a millisecond.
    """
    points = np.atleast_1d(np.asarray(x, dtype=np.float64))
    answer = np.minimum(np.exp(_log_survival()(np.clip(points, LOWEST, HIGHEST))), 1.0)
    far = points > HIGHEST
    answer[far] = _first_term(np.minimum(points[far], VANISHED))
    return np.reshape(answer, np.shape(x))


def percentage_point(p: float) -> float:
    """The x with F₁(x) = p, in units of the Tracy–Widom variable, for 0 < p < 1; NaN for other p.

    Not below −10, where F₁ is 1e-22: smaller p give −10.
    """
    if not 0 < p < 1:
        return float("nan")
    goal = np.log1p(-p)
    if goal >= np.log(survival(LOWEST)):
        return LOWEST
    return float(brentq(lambda x: np.log(survival(x)) - goal, LOWEST, FADED, xtol=1e-13))


def log_determinant(
    s: Float[np.ndarray, "point"], order: int = ORDER, faded: float = FADED
) -> Float[np.ndarray, "point"]:
    """log F₁(s) = log det(I − K), K(x, y) = ½ Ai((x + y)/2 + s) on (0, ∞) (Ferrari and Spohn 2005; Bornemann 2010).

    Over x/2, y/2 in place of x, y the kernel is Ai(x + y + s). Gauss–Legendre nodes make a symmetric matrix of it, and
    log1p keeps its small eigenvalues: no digit of 1 − F₁ is lost on the right, where F₁ is near 1.
    """
    unit, weight = legendre.leggauss(order)
    length = np.maximum(faded - s, 4.0)[:, None]
    x, root = length * (unit + 1) / 2, np.sqrt(length * weight / 2)
    kernel = airy(x[:, :, None] + x[:, None, :] + s[:, None, None])[0] * root[:, :, None] * root[:, None, :]
    return np.asarray(np.log1p(-np.linalg.eigvalsh(kernel)).sum(axis=1))


@lru_cache(maxsize=1)
def _log_survival() -> Chebyshev:
    unit = chebyshev.chebpts1(NODES)
    values = np.log(-np.expm1(log_determinant((HIGHEST + LOWEST) / 2 + (HIGHEST - LOWEST) / 2 * unit)))
    return Chebyshev(chebyshev.chebfit(unit, values, NODES - 1), domain=[LOWEST, HIGHEST])


def _first_term(x: Float[np.ndarray, "point"]) -> Float[np.ndarray, "point"]:
    # Ai(t) falls by e over 1/√t or less, so 40 of these hold all of the integral.
    unit, weight = legendre.leggauss(ORDER)
    length = 40 / np.sqrt(x)[:, None]
    t = x[:, None] + length * (unit + 1) / 2
    return np.asarray((length / 2 * weight * airye(t)[0] * np.exp(-2 / 3 * t**1.5)).sum(axis=1) / 2)

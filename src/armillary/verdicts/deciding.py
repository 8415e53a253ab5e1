"""How a verdict is reached: five standard errors, an exact counterexample, or an identity to rounding."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from armillary.verdicts.claim import APPROXIMATE, ASYMPTOTIC, BROKEN, EXACT, FALSE, NONE, VACUOUS, Finding

SIGMAS = 5.0
"""How many standard errors a value may lie off a simulation that it is said to give."""

ROUNDING = 1e-8
"""How far, as a share of the size, the two sides of an identity may lie apart in float64."""

Values = float | Float[np.ndarray, "..."]


def simulated(
    measured: Values, se: Values, corrected: Values, published: Values | None = None, *, note: str = ""
) -> Finding:
    """The verdict of a simulation: which of two formulas it confirms, at every one of its values.

    Shown is the value at which the published formula is farthest off in standard errors, or the largest if it holds.
    """
    return compared(measured, SIGMAS * np.asarray(se), corrected, published, note=note, se=se)


def computed(
    measured: Values, corrected: Values, published: Values | None = None, *, tolerance: float = ROUNDING, note: str = ""
) -> Finding:
    """The verdict of a computation without chance: which of two formulas gives what was computed another way."""
    sides = (measured, corrected) if published is None else (measured, corrected, published)
    size = max(float(np.max(np.abs(side), initial=0.0)) for side in sides)
    return compared(measured, tolerance * (size if size > 0 else 1.0), corrected, published, note=note)


def compared(
    measured: Values,
    allowed: Values,
    corrected: Values,
    published: Values | None = None,
    *,
    se: Values = NONE,
    note: str = "",
) -> Finding:
    """Which formulas lie within `allowed` of what was measured: exact, false as published, or the correction fails."""
    rows = [
        np.ravel(each)
        for each in np.broadcast_arrays(*(np.asarray(v, float) for v in (measured, allowed, corrected, se)))
    ]
    truth, room, right, errors = rows
    stated = right if published is None else np.ravel(np.broadcast_to(np.asarray(published, float), np.shape(measured)))
    off = np.nan_to_num(np.abs(stated - truth) / np.maximum(room, 1e-300), nan=np.inf)
    fits = bool((np.abs(right - truth) <= room).all())
    holds = bool((off <= 1).all())
    worst = int(np.abs(truth).argmax() if holds and fits else off.argmax())
    verdict = EXACT if holds and fits else FALSE if fits or published is None else BROKEN
    return Finding(verdict, float(stated[worst]), float(right[worst]), float(truth[worst]), float(errors[worst]), note)


def inequality(corrected: Values, published: Values | None = None, *, note: str = "") -> Finding:
    """The verdict on left ≤ right from the ratios left/right of many cases: the largest must not exceed 1."""
    right = float(np.max(corrected))
    stated = right if published is None else float(np.max(published))
    limit = 1 + ROUNDING
    verdict = EXACT if stated <= limit and right <= limit else FALSE if right <= limit or published is None else BROKEN
    return Finding(verdict, stated, right, note=note)


def approximate(
    error: float, within: float, se: float = 0.0, *, published: float = NONE, corrected: float = NONE, note: str = ""
) -> Finding:
    """The verdict on an approximation: its error, five standard errors counted, stays within what is allowed."""
    verdict = APPROXIMATE if error + SIGMAS * se <= within else FALSE
    return Finding(verdict, published, corrected, error, se if se > 0 else NONE, note)


def vanishing(
    sizes: Sequence[int | float], errors: Sequence[float], rate: float, *, within: float = 0.15, note: str = ""
) -> Finding:
    """The verdict on a limit: errors fall as size to the power `rate`; the measured number is the slope of the logs."""
    slope = float(np.polyfit(np.log(np.asarray(sizes, float)), np.log(np.asarray(errors, float)), 1)[0])
    return Finding(ASYMPTOTIC if abs(slope - rate) <= within else FALSE, NONE, rate, slope, note=note)


def empty(says_nothing: bool, measured: float, *, note: str = "") -> Finding:
    """The verdict on a statement that anything fulfils."""
    return Finding(VACUOUS if says_nothing else FALSE, measured=measured, note=note)


def otherwise(found: Finding, holds: str, note: str = "") -> Finding:
    """A finding that holds, in another sense than exactly; one that does not stays as it is."""
    return found._replace(verdict=holds, note=note or found.note) if found.verdict == EXACT else found


def all_of(*findings: Finding, note: str = "") -> Finding:
    """Several findings of one claim: the worst verdict counts, and its numbers are shown.

    Where the published formula is refuted beside its correction, whatever else is checked belongs to the correction: if
    that fails too, the correction does.
    """
    order = [EXACT, ASYMPTOTIC, APPROXIMATE, VACUOUS, FALSE, BROKEN]
    worst = max(findings, key=lambda found: order.index(found.verdict))
    false = [found for found in findings if found.verdict == FALSE]
    uncontested = [found for found in false if found.published == found.corrected]
    if uncontested and len(uncontested) < len(false):
        worst = uncontested[0]._replace(verdict=BROKEN)
    return worst._replace(note=note or worst.note)


def mean_and_error(values: Float[np.ndarray, "draw *value"]) -> tuple[np.ndarray, np.ndarray]:
    """Mean over independent draws and its standard error."""
    return np.asarray(values.mean(axis=0)), np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values)))


def variance_and_error(values: Float[np.ndarray, "draw *value"]) -> tuple[np.ndarray, np.ndarray]:
    """Variance over independent draws and its standard error, from the fourth moment."""
    squares = (values - values.mean(axis=0)) ** 2
    return mean_and_error(squares * (len(values) / (len(values) - 1)))


def direction(measured: float, se: float, *, published: int = 1, note: str = "") -> Finding:
    """The verdict on a statement that something rises (1) or falls (−1): which way it went, by five standard errors.

    Without chance `se` is 0. The published side is the sign, the measured number the difference.
    """
    clear = abs(measured) > SIGMAS * se
    verdict = BROKEN if not clear else EXACT if measured * published > 0 else FALSE
    return Finding(verdict, float(published), NONE, measured, se if se > 0 else NONE, note)

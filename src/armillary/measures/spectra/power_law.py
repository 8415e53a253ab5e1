"""A power law in the upper tail of a matrix's eigenvalues: its exponent, where it begins, and how sure that is."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

EPSILON = float(np.finfo(np.float64).eps)

FEWEST = 50
"""With fewer positive eigenvalues there is no fit."""

FEWEST_TAIL = 10
"""No tail is shorter: a few values lie close to some power law whatever their own law is."""

RESAMPLES = 200
"""How often the whole fit is repeated for the interval; the interval's width is then known to about 5 %."""

BEGINNINGS, POINTS = 40, 100
"""How many tails a repeated fit tries, and at how many values it compares; both evenly spaced in log rank."""

EQUAL = 1e-9
"""A tail whose logarithms exceed the first one by less on average holds equal values only."""


class PowerLaw(NamedTuple):
    """A power-law tail p(λ) ∝ λ^−alpha of the eigenvalues λ = σ² from xmin on, with a 95 % interval for alpha.

    `xmin` is in the units of the squared singular values, `tail` the number of eigenvalues from it on, `ks_distance`
    the distance between their distribution and the power law, 0 to 1.
    """

    alpha: float
    alpha_low: float
    alpha_high: float
    xmin: float
    ks_distance: float
    tail: int | float


def power_law(
    singular_values: Float[np.ndarray, "mode"], seed: int = 0, resamples: int = RESAMPLES, epsilon: float = EPSILON
) -> PowerLaw:
    """Exponent alpha (no unit, above 1) of a power law fitted to the squared singular values (Clauset and others 2009).

    A description of a spectrum, no verdict on how well a model is trained. For a tail from xmin on, alpha is 1 + n / Σ
    log(λ/xmin); xmin is the eigenvalue that makes the distance least, at least ten values before the end. The distance
    is that of the authors' own code, max |share of the tail strictly below λ − fitted share below λ|.

    The interval accounts for the choice of xmin: the whole fit is repeated on resamples of all eigenvalues, each moved
    within the gap to its neighbours so that none is repeated, and the root mean square w of log(alpha − 1) about the
    fit gives 1 + (alpha − 1) exp(∓1.96 w). It takes the eigenvalues for independent draws, which those of a matrix are
    not. On simulated tails of 54 kinds it held the true alpha in 87 to 100 % of draws, 97 % on average; the interval of
    the plain error (alpha − 1)/√n did in 37 to 93 %.

    Singular values below σ₁ · epsilon · (their number) count as zero and are left out, epsilon being the rounding unit
    of the matrix's dtype or of the values' own, whichever is coarser. All NaN with fewer than 50 others, and where the
    others are equal but for rounding.
    """
    if not np.isfinite(singular_values).all():
        raise ValueError("power_law needs finite singular values, but got NaN or infinity")
    rounding = max(epsilon, float(np.finfo(singular_values.dtype).eps)) * len(singular_values)
    values = np.sort(singular_values.astype(np.float64))
    values = values[values > values.max(initial=0) * rounding]
    logs = 2 * np.log(values)
    if len(values) < FEWEST or logs[-1] - logs[0] < max(EQUAL, 2 * rounding):
        return PowerLaw(*[float("nan")] * 6)
    beginnings = np.unique(logs[: len(logs) - FEWEST_TAIL + 1], return_index=True)[1]
    rates, begins, distances = _fits(logs[None], beginnings, np.arange(len(logs)))
    rate, begin = float(rates[0]), int(begins[0])
    if rate == 0:
        return PowerLaw(*[float("nan")] * 6)
    others = _resampled_rates(logs, resamples, seed)
    shifts = np.log(others[others > 0] / rate)
    width = 1.96 * float(np.sqrt(np.mean(shifts**2))) if len(shifts) else float("nan")
    return PowerLaw(
        alpha=1 + rate,
        alpha_low=1 + rate * float(np.exp(-width)),
        alpha_high=1 + rate * float(np.exp(width)),
        xmin=float(values[begin] ** 2),
        ks_distance=float(distances[0]),
        tail=len(values) - begin,
    )


def _resampled_rates(logs: Float[np.ndarray, "mode"], resamples: int, seed: int) -> Float[np.ndarray, "sample"]:
    """alpha − 1 of the whole fit on each resample, the tails tried being those of some forty ranks."""
    count = len(logs)
    places, index = _places(resamples, count, seed)
    middles = np.concatenate([logs[:1], (logs[1:] + logs[:-1]) / 2, logs[-1:]])
    drawn = middles[index] + (places - index) * np.diff(middles)[index]
    beginnings = _ranks(FEWEST_TAIL, count, BEGINNINGS)
    return _fits(drawn, beginnings, np.union1d(beginnings, _ranks(1, count, POINTS)))[0]


@lru_cache(maxsize=8)
def _places(
    resamples: int, count: int, seed: int
) -> tuple[Float[np.ndarray, "sample mode"], Int[np.ndarray, "sample mode"]]:
    """Sorted uniform numbers between 0 and count, and their whole parts; the same for all spectra of one length."""
    gaps = np.random.default_rng(seed).standard_exponential((resamples, count + 1))
    places = np.cumsum(gaps, axis=1)
    places = places[:, :-1] / places[:, -1:] * count
    return places, np.minimum(places.astype(int), count - 1)


def _ranks(lowest: int, count: int, number: int) -> Int[np.ndarray, "rank"]:
    """Where tails of lowest … count values begin, evenly spaced in the logarithm of their length."""
    return count - np.unique(np.round(np.geomspace(lowest, count, number)).astype(int))[::-1]


def _fits(
    logs: Float[np.ndarray, "sample mode"], beginnings: Int[np.ndarray, "tail"], points: Int[np.ndarray, "point"]
) -> tuple[Float[np.ndarray, "sample"], Int[np.ndarray, "sample"], Float[np.ndarray, "sample"]]:
    """The tail of least distance in each row of sorted logarithms: alpha − 1 (0: none), its beginning, its distance."""
    count = logs.shape[1]
    tails, first = count - beginnings, logs[:, beginnings]
    excess = np.cumsum(logs[:, ::-1], axis=1)[:, ::-1][:, beginnings] / tails - first
    rates = np.where(excess > EQUAL, 1 / np.maximum(excess, EQUAL), 0.0)
    seen, above = logs[:, points], count - points
    distances = np.empty(rates.shape)
    for k, (begin, tail) in enumerate(zip(beginnings, tails, strict=True)):
        start = int(np.searchsorted(points, begin))
        fitted = np.exp(-rates[:, k, None] * (seen[:, start:] - first[:, k, None]))
        distances[:, k] = np.abs(fitted - above[start:] / tail).max(axis=1)
    distances[rates == 0] = np.inf  # a tail of equal values has no exponent
    best = distances.argmin(axis=1)
    rows = np.arange(len(logs))
    return rates[rows, best], beginnings[best], distances[rows, best]

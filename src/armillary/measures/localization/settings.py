"""One line of figure 5 of Bao et al.: simulated walks averaged over draws of W_QK, and how far each theory lies off."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from armillary.measures.localization.regimes import regimes
from armillary.measures.localization.simulation import SimulatedWalks, simulated_walks

PerPosition = Float[np.ndarray, " position"]


class SimulatedSetting(NamedTuple):
    """Means over draws of W_QK with standard errors over walks at the drawn ones, beside the theories' means.

    Errors are the largest over positions of |theory − simulation|; `exact_deviation` is that of the exact law in
    standard errors. Regime and clipping are those of the exact ρ.
    """

    xi: float
    xi_sd: float
    eta: float
    eta_sd: float
    trace: float
    rho: PerPosition
    rho_se: PerPosition
    rho_exact: PerPosition
    rho_gaussian: PerPosition
    rho_published: PerPosition
    probability: PerPosition
    probability_se: PerPosition
    slope: PerPosition
    slope_se: PerPosition
    entropy: float
    entropy_se: float
    distance: float
    distance_se: float
    published_error: float
    gaussian_error: float
    exact_error: float
    exact_deviation: float
    regime: str
    clipped: bool


def simulated_setting(
    mean: float,
    scale: float,
    isotropic: bool,
    stream: int,
    draws: int = 10,
    walks: int = 300,
    length: int = 40,
    d_model: int = 128,
    seed: int = 0,
) -> SimulatedSetting:
    """Shares, probabilities and nats of W_QK with eigenvalues N(mean, scale²), `walks` walks for each draw of it.

    Settings with different streams share no random number.
    """
    seeds = np.random.SeedSequence([seed, stream]).generate_state(draws)
    return averaged(
        [simulated_walks(mean, scale, isotropic, walks, length, d_model, seed=int(one)) for one in seeds], walks
    )


def averaged(each: Sequence[SimulatedWalks], walks: int) -> SimulatedSetting:
    """The mean over draws of W_QK, shares and nats; its error given the draws, which the theories share.

    A deviation counts in the larger of two standard errors of ρ, the measured one and the exact law's own: the measured
    one is too small where ρ is near 0 or 1 and the walks happen to agree.
    """

    def mean(name: str) -> Float[np.ndarray, "..."]:
        return np.asarray(np.mean([getattr(one, name) for one in each], axis=0))

    def error(name: str) -> Float[np.ndarray, "..."]:
        return np.asarray(np.sqrt(np.sum([getattr(one, f"{name}_se") ** 2 for one in each], axis=0)) / len(each))

    rho, rho_se, exact = mean("rho"), error("rho"), mean("rho_exact")
    exact_se = np.sqrt(np.sum([one.rho_exact * (1 - one.rho_exact) / walks for one in each], axis=0)) / len(each)
    named = regimes(mean("below_exact"), exact)
    return SimulatedSetting(
        xi=float(mean("xi")),
        xi_sd=_spread([one.xi for one in each]),
        eta=float(mean("eta")),
        eta_sd=_spread([one.eta for one in each]),
        trace=float(np.mean([one.xi * one.eta for one in each])),
        rho=rho,
        rho_se=rho_se,
        rho_exact=exact,
        rho_gaussian=mean("rho_gaussian"),
        rho_published=mean("rho_published"),
        probability=mean("probability"),
        probability_se=error("probability"),
        slope=mean("slope"),
        slope_se=error("slope"),
        entropy=float(mean("entropy")),
        entropy_se=float(error("entropy")),
        distance=float(mean("distance")),
        distance_se=float(error("distance")),
        published_error=float(np.abs(mean("rho_published") - rho).max()),
        gaussian_error=float(np.abs(mean("rho_gaussian") - rho).max()),
        exact_error=float(np.abs(exact - rho).max()),
        exact_deviation=float((np.abs(exact - rho) / np.maximum(rho_se, exact_se)).max()),
        regime=str(named.regime),
        clipped=bool(named.clipped),
    )


def _spread(values: Sequence[float]) -> float:
    """Standard deviation over draws; NaN for a single one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")

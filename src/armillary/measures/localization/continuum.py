"""ρ as a function of the relative place θ = i/T, in the limit of many tokens: equation (6), and its slope in θ."""

import numpy as np
from jaxtyping import Float
from scipy.special import erf

Places = float | Float[np.ndarray, "*place"]


def place_variance(theta: Places) -> Places:
    """2θ² − 2θ + 7/12: the variance of g in units of tr W²/λ², the limit of the exact one."""
    return 2 * theta**2 - 2 * theta + 7 / 12


def place_variance_published(theta: Places) -> Places:
    """2θ² + 7/12, as in Lemma 1."""
    return 2 * theta**2 + 7 / 12


def continuum_rho(theta: Places, xi: float, eta: float, variance: Places) -> Places:
    """Equation (6), 0 to 1, with the given variance at each place: ½ erf(uξ/√2V) − ½ erf((uξ − 1/η)/√2V), u = θ − ½."""
    root = np.sqrt(2 * np.asarray(variance))
    mean = (np.asarray(theta) - 0.5) * xi
    return np.asarray(0.5 * (erf(mean / root) - erf((mean - 1 / eta) / root)))


def rho_slope(theta: float, xi: float, eta: float, variance: float, variance_slope: float) -> float:
    """dρ/dθ of (6), per unit of θ, for a variance V with slope V′ at θ.

    π^{−1/2} (2V)^{−3/2} [e^{−z²/2V} (2Vξ − zV′) − e^{−y²/2V} (2Vξ − yV′)], z = (θ − ½)ξ, y = z − 1/η.
    """
    first, second = (theta - 0.5) * xi, (theta - 0.5) * xi - 1 / eta
    parts = [np.exp(-(z**2) / (2 * variance)) * (2 * variance * xi - z * variance_slope) for z in (first, second)]
    return float((parts[0] - parts[1]) / (np.sqrt(np.pi) * (2 * variance) ** 1.5))


def rho_slope_published(theta: float, xi: float, eta: float) -> float:
    """The derivative printed in the proof of Lemma 2, with numerators 4θ² − θ + 5/3 and the same less 1/η, times ξ."""
    u, V = theta - 0.5, float(place_variance_published(theta))
    first, second = np.exp(-((u * xi) ** 2) / (2 * V)), np.exp(-((u * xi - 1 / eta) ** 2) / (2 * V))
    top = 4 * theta**2 - theta + 5 / 3
    return float(xi * (first * top - second * (top - 1 / eta)) / (np.sqrt(np.pi) * (2 * V) ** 1.5))


def rho_slope_bound_published(theta: float, xi: float, eta: float) -> float:
    """|ξ|/(√π η (2V)^{3/2}): the bound on |dρ/dθ| from which uniformity is concluded."""
    return float(abs(xi) / (np.sqrt(np.pi) * eta * (2 * float(place_variance_published(theta))) ** 1.5))


def vanishing_bound(eta: float, variance: Places) -> Places:
    """1/(η √(2πV)) ≥ ρ: how fast the signal vanishes as η grows."""
    return 1 / (eta * np.sqrt(2 * np.pi * np.asarray(variance)))

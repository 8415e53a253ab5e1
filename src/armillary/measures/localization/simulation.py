"""Figure 5 of Bao et al. as an experiment: random walks, a symmetric W_QK of chosen spectrum, ρ beside its theories."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from armillary.measures.errors.groups import GroupMean
from armillary.measures.localization.law import gaussian_shares, measured_shares, published_rho, symmetric_shares
from armillary.measures.localization.softmax import entropy, piecewise_distance, softmax
from armillary.measures.localization.walk import moments, xi_eta

CELLS = 1 << 23
"""How many coordinates of walks are in memory at a time."""

Square = Float[np.ndarray, "d_model d_model_"]
PerPosition = Float[np.ndarray, "position"]


class SimulatedWalks(NamedTuple):
    """What simulated walks show at each position, with standard errors over walks at the given W_QK, beside theory.

    ρ, and the exact P(g_i < 0) beside the exact ρ; mean softmax probability E p, mean slope E p(1 − p) of the softmax;
    the entropy of the last query in nats, and the total variation distance between softmax and its piecewise linear
    approximation.
    """

    xi: float
    eta: float
    rho: PerPosition
    rho_se: PerPosition
    rho_exact: PerPosition
    below_exact: PerPosition
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


def simulated_walks(
    mean: float,
    scale: float,
    isotropic: bool = True,
    walks: int = 300,
    length: int = 40,
    d_model: int = 128,
    temperature: float | None = None,
    seed: int = 0,
) -> SimulatedWalks:
    """Shares, probabilities and nats of one symmetric W_QK, eigenvalues N(mean, scale²), on walks of `length` tokens.

    Σ is I, or RᵀR/d with R uniform on (−2.5, 2.5). The temperature λ is √d if none is given. One draw of W_QK: figure 5
    is the mean over ten seeds. The standard error of ρ uses (hits + ½)/(walks + 1), so that it is not 0 at ρ = 0 or 1.
    """
    rng = np.random.default_rng(seed)
    covariance = np.eye(d_model) if isotropic else anisotropic_covariance(d_model, rng)
    W_QK = spectral_matrix(mean, scale, d_model, rng) / (np.sqrt(d_model) if temperature is None else temperature)
    factor = np.linalg.cholesky(covariance)
    eigenvalues = np.linalg.eigvalsh(factor.T @ W_QK @ factor)
    trace, square = float(eigenvalues.sum()), float(np.sum(eigenvalues**2))
    scores = walk_scores(W_QK, covariance, walks, length, rng)
    rho, shares = measured_shares(scores).rho, softmax(scores)
    exact = symmetric_shares(eigenvalues, length)
    smoothed = (rho * walks + 0.5) / (walks + 1)
    plane = xi_eta(trace, square)
    probability, slope = _over_walks(shares), _over_walks(shares * (1 - shares))
    nats, distance = _over_walks(entropy(shares)), _over_walks(piecewise_distance(scores))
    return SimulatedWalks(
        xi=float(plane.xi),
        eta=float(plane.eta),
        rho=rho,
        rho_se=np.sqrt(smoothed * (1 - smoothed) / walks),
        rho_exact=exact.rho,
        below_exact=exact.below,
        rho_gaussian=gaussian_shares(*moments(trace, square, square, length)).rho,
        rho_published=published_rho(trace, square, length),
        probability=probability.mean,
        probability_se=probability.se,
        slope=slope.mean,
        slope_se=slope.se,
        entropy=float(nats.mean),
        entropy_se=float(nats.se),
        distance=float(distance.mean),
        distance_se=float(distance.se),
    )


def walk_scores(
    W_QK: Square, covariance: Square, walks: int, length: int, rng: np.random.Generator
) -> Float[np.ndarray, "context key"]:
    """Scores ω_i = x_iᵀ W_QK x_T of the last token of random walks, scale counted; any W_QK, one row per walk."""
    factor = np.linalg.cholesky(covariance)
    whitened = factor.T @ W_QK @ factor
    batch = max(1, CELLS // (length * len(whitened)))
    scores = np.empty((walks, length))
    for start in range(0, walks, batch):
        rows = scores[start : start + batch]
        states = rng.standard_normal((len(rows), length, len(whitened))).cumsum(axis=1)
        rows[:] = (states @ (states[:, -1] @ whitened.T)[:, :, None])[:, :, 0]
    return scores


def spectral_matrix(mean: float, scale: float, d_model: int, rng: np.random.Generator) -> Square:
    """B diag(w) Bᵀ with w ~ N(mean, scale²) and a random orthogonal B; no scale counted."""
    turn = np.linalg.qr(rng.standard_normal((d_model, d_model))).Q
    return np.asarray((turn * rng.normal(mean, scale, d_model)) @ turn.T)


def anisotropic_covariance(d_model: int, rng: np.random.Generator) -> Square:
    """RᵀR/d with entries of R uniform on (−2.5, 2.5): the mean eigenvalue is 25/12."""
    factor = rng.uniform(-2.5, 2.5, (d_model, d_model))
    return np.asarray(factor.T @ factor / d_model)


def _over_walks(values: Float[np.ndarray, "context *value"]) -> GroupMean:
    """Mean over independent walks and its standard error; NaN for a single walk."""
    count = len(values)
    error = values.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.full(values.shape[1:], np.nan)
    return GroupMean(np.asarray(values.mean(axis=0)), np.asarray(error))

"""The curves of figures 1 to 4 of Bao et al., the published law beside the corrected one."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from armillary.measures.localization.bounds import entropy_bound
from armillary.measures.localization.law import gaussian_shares, published_rho
from armillary.measures.localization.softmax import piecewise_distance, piecewise_softmax, softmax
from armillary.measures.localization.walk import moments

MANY = 100_000
"""Tokens that stand for the limit of long sequences, of which the document speaks."""


class TwoKeys(NamedTuple):
    """Attention on the first of two keys: the softmax and its piecewise linear approximation."""

    softmax: Float[np.ndarray, " score"]
    piecewise: Float[np.ndarray, " score"]


class PiecewiseDistance(NamedTuple):
    """Total variation between the two for independent normal scores, its standard error, and its law for small ones."""

    piecewise_distance: Float[np.ndarray, "keys deviation"]
    piecewise_distance_se: Float[np.ndarray, "keys deviation"]
    piecewise_distance_small: Float[np.ndarray, " deviation"]


class Plane(NamedTuple):
    """ρ of a Gaussian g_i at every (ξ, η): exact moments at the given length, at many tokens, and as published."""

    rho: Float[np.ndarray, "eta xi position"]
    rho_many: Float[np.ndarray, "eta xi position"]
    rho_published: Float[np.ndarray, "eta xi position"]


class Narrowing(NamedTuple):
    """ρ as ξ grows while ξη = tr W is held fixed: exact moments at many tokens, and as published."""

    rho_narrowing: Float[np.ndarray, "product xi_growing position"]
    rho_narrowing_published: Float[np.ndarray, "product xi_growing position"]


class EntropyBounds(NamedTuple):
    """The lower bound (9) on the entropy of attention, as published and corrected, and the largest entropy, in nats."""

    bound_published: Float[np.ndarray, " nu"]
    bound_corrected: Float[np.ndarray, " nu"]
    entropy_largest: float


def two_keys(score: Float[np.ndarray, " score"]) -> TwoKeys:
    """Figure 1: shares of attention on the first key, which scores this much more than the second."""
    pair = np.stack([score, np.zeros_like(score)], axis=-1)
    return TwoKeys(softmax(pair)[:, 0], piecewise_softmax(pair)[:, 0])


def piecewise_distances(
    keys: Int[np.ndarray, " keys"], deviation: Float[np.ndarray, " deviation"], draws: int = 500, seed: int = 0
) -> PiecewiseDistance:
    """½ Σ |softmax − S̃| over scores N(0, deviation²), mean over draws; 0.242 deviation² where that is small.

    The same draws serve all deviations. s²/4 E|z² − 1| is the law for small ones, E|z² − 1| = 4φ(1).
    """
    rng = np.random.default_rng(seed)
    means, errors = [], []
    for count in keys:
        scores = rng.standard_normal((draws, int(count)))
        each = np.stack([piecewise_distance(size * scores) for size in deviation], axis=-1)
        means.append(each.mean(axis=0))
        errors.append(each.std(axis=0, ddof=1) / np.sqrt(draws))
    small = np.exp(-0.5) / np.sqrt(2 * np.pi) * deviation**2
    return PiecewiseDistance(np.stack(means), np.stack(errors), small)


def rho_plane(xi: Float[np.ndarray, " xi"], eta: Float[np.ndarray, " eta"], length: int) -> Plane:
    """Figure 2: ρ at all positions of `length` tokens, and at the same places θ = i/T of many tokens."""
    trace = eta[:, None] * xi
    square = np.broadcast_to(eta[:, None] ** 2, trace.shape)
    positions = np.arange(1, length + 1)
    own = gaussian_shares(*moments(trace, square, square, length, positions)).rho
    return Plane(own, _many(trace, square, length), published_rho(trace, square, length))


def rho_narrowing(
    product: Float[np.ndarray, " product"], xi_growing: Float[np.ndarray, " xi_growing"], length: int
) -> Narrowing:
    """Figure 3: ρ at the places θ = i/T for η = product/ξ; equation (5) allows such a ξ from d_model = ξ² on."""
    trace = np.broadcast_to(product[:, None], (len(product), len(xi_growing)))
    square = (product[:, None] / xi_growing) ** 2
    return Narrowing(_many(trace, square, length), published_rho(trace, square, length))


def entropy_bounds(nu: Float[np.ndarray, " nu"], length: int) -> EntropyBounds:
    """Figure 4: bounds in nats on the entropy over `length` keys whose scores have a norm of at most ν."""
    found = entropy_bound(nu, length)
    return EntropyBounds(found.left_published, found.left_corrected, float(np.log(length)))


def _many(
    trace: Float[np.ndarray, "*head"], square: Float[np.ndarray, "*head"], length: int
) -> Float[np.ndarray, "*head position"]:
    """ρ at the places θ = i/length of many tokens."""
    places = np.maximum(1, np.round(np.arange(1, length + 1) / length * MANY).astype(np.int64))
    return gaussian_shares(*moments(trace, square, square, MANY, places)).rho

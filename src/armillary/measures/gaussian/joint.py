"""Joint Gaussians of several tokens: marginals, linear maps, conditionals, and what a low-rank map keeps.

After Wertich, sections 4.1 and 4.2. An invertible map keeps all mutual information and a low-rank one does not, so the
W_Q, W_K and W_V of a head, whose rank is d_head, lose some: the data-processing inequality.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_solve
from scipy.special import gammaln

from armillary.measures.gaussian.information import Gaussian, Matrix, log_determinant, mutual_information, root

Map = Float[np.ndarray, "output input"]
Other = Float[np.ndarray, "output_ input_"]
Places = Int[np.ndarray, " known"]


class Kept(NamedTuple):
    """Mutual information of two blocks before and after each goes through a linear map; the second is never larger."""

    before: float
    after: float


def mapped(law: Gaussian, map: Map, offset: Float[np.ndarray, " output"] | None = None) -> Gaussian:
    """The law of Lx + b: N(Lμ + b, LΣLᵀ)."""
    mean = map @ law.mean
    return Gaussian(mean if offset is None else mean + offset, map @ law.covariance @ map.T)


def each_token(map: Map, tokens: int) -> Float[np.ndarray, "outputs modes"]:
    """The map that acts on every token of a sequence by itself, I ⊗ L (equation 4.2)."""
    return np.kron(np.eye(tokens), map)


def marginal(law: Gaussian, places: Places) -> Gaussian:
    """The law of some coordinates."""
    return Gaussian(law.mean[places], law.covariance[np.ix_(places, places)])


def conditional(law: Gaussian, known: Places, values: Float[np.ndarray, " known"]) -> Gaussian:
    """The law of the other coordinates, in their order, where the known ones have these values.

    Mean μ₂ + Σ₂₁ Σ₁₁⁻¹ (x₁ − μ₁), covariance Σ₂₂ − Σ₂₁ Σ₁₁⁻¹ Σ₁₂. With the previous token's coordinates known this is
    the bigram preconditioning of section 4.2.3: its entropy is smaller by the mutual information of the two tokens.
    """
    rest = np.setdiff1d(np.arange(len(law.mean)), known)
    inside = law.covariance[np.ix_(known, known)]
    gain = cho_solve((root(inside), True), law.covariance[np.ix_(known, rest)]).T
    mean = law.mean[rest] + gain @ (values - law.mean[known])
    left = law.covariance[np.ix_(rest, rest)] - gain @ law.covariance[np.ix_(known, rest)]
    return Gaussian(mean, (left + left.T) / 2)


def kept_information(covariance: Matrix, first: int, left: Map, right: Other) -> Kept:
    """I(x; y) and I(Lx; My), x the first `first` coordinates; a map of more outputs than rank is cut to its rank."""
    queries, keys = row_space(left), row_space(right)
    after = mutual_information(through_maps(covariance, first, queries, keys), len(queries))
    return Kept(mutual_information(covariance, first), after)


def through_maps(covariance: Matrix, first: int, left: Map, right: Other) -> Float[np.ndarray, "outputs outputs_"]:
    """Covariance of (Lx, My), x the first `first` coordinates."""
    size = len(left)
    both = np.zeros((size + len(right), len(covariance)))
    both[:size, :first], both[size:, first:] = left, right
    return np.asarray(both @ covariance @ both.T)


def row_space(map: Map) -> Float[np.ndarray, "rank input"]:
    """Orthonormal rows that span those of a map: information goes through them as through the map itself."""
    _, values, rows = np.linalg.svd(map, full_matrices=False)
    floor = max(map.shape) * np.finfo(np.float64).eps * values.max(initial=0.0)
    return np.asarray(rows[values > floor])


def entropy_change(map: Float[np.ndarray, "mode mode_"]) -> float:
    """log |det L|: what an invertible map adds to the entropy, in nats; −∞ where it is singular."""
    return float(np.linalg.slogdet(map)[1])


def ellipsoid_volume(covariance: Matrix, radius: int | float = 1.0) -> float:
    """Volume of (x − μ)ᵀ Σ⁻¹ (x − μ) ≤ r²: the ball's times √|Σ|, and not its inverse."""
    size = len(covariance)
    ball = size / 2 * np.log(np.pi) - gammaln(size / 2 + 1) + size * np.log(radius)
    return float(np.exp(ball + log_determinant(covariance) / 2))

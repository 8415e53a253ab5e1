"""How nearly orthogonal position and context vectors are, what chance gives, and Theorem 2 of Song & Zhong."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from armillary.measures.similarity import unit_vectors


class Incoherence(NamedTuple):
    """Mean and maximum over (position, context) of the absolute cosine."""

    incoherence_mean: float
    incoherence_max: float


class IncoherenceNull(NamedTuple):
    """The same two, expected of vectors that know nothing of each other."""

    incoherence_mean_null: Float[np.ndarray, "layer"]
    incoherence_max_null: Float[np.ndarray, "layer"]


class Theorem2(NamedTuple):
    """Largest departure |log ratio| of the kernel from factorising, and the bound on it."""

    departure: float
    bound: float


def incoherence(
    position_basis: Float[np.ndarray, "position d_model"], context_basis: Float[np.ndarray, "context d_model"]
) -> Incoherence:
    """Mean and maximum of |cos| over all pairs of a position vector and a context vector, 0 to 1.

    Song & Zhong's Table 1 says mean, their section 5 maximum: two different numbers, and two different nulls. NaN where
    a vector is zero.
    """
    cosines = np.abs(unit_vectors(position_basis) @ unit_vectors(context_basis).T)
    return Incoherence(float(cosines.mean()), float(cosines.max()))


def mean_absolute_cosine(d_model: int) -> float:
    """E|cos| of a uniform direction with any other: Γ(d/2) / (√π Γ((d+1)/2)), about √(2/(π d)), d = d_model."""
    return float(np.exp(gammaln(d_model / 2) - gammaln((d_model + 1) / 2)) / np.sqrt(np.pi))


def incoherence_null_rotation(
    position_basis: Float[np.ndarray, "layer position d_model"],
    context_basis: Float[np.ndarray, "layer context d_model"],
    draws: int = 4,
    seed: int = 0,
) -> IncoherenceNull:
    """Incoherence of the same two bases after a random rotation of one: mean exact, maximum averaged over draws.

    Both bases keep their own Gram matrices, so a smooth, low-rank position basis has the smaller maximum that it
    should. A rotation only moves the frame of the smaller basis: a Gaussian matrix, made orthonormal, drawn once for
    all layers, so that layers given one at a time get the same numbers.
    """
    d_model = position_basis.shape[2]
    small, large = sorted([unit_vectors(position_basis), unit_vectors(context_basis)], key=lambda basis: basis.shape[1])
    coordinates = np.linalg.qr(small.swapaxes(1, 2))[1]
    rng = np.random.default_rng(seed)
    highest = np.zeros(len(small))
    for _ in range(draws):
        gaussian = rng.standard_normal((d_model, coordinates.shape[1]))
        # Any orthonormal basis of its columns that commutes with rotations is uniform; Cholesky's is the cheapest.
        frame = np.linalg.solve(np.linalg.cholesky(gaussian.T @ gaussian), gaussian.T)
        highest += [np.abs(vectors @ frame.T @ r).max() for vectors, r in zip(large, coordinates, strict=True)]
    mean = np.where(np.isnan(highest), np.nan, mean_absolute_cosine(d_model))
    return IncoherenceNull(mean, highest / draws)


def incoherence_null_covariance(
    covariance: Float[np.ndarray, "layer d_model d_model_"],
    positions: int,
    contexts: int,
    draws: int = 1,
    cuts: int = 16,
    seed: int = 0,
) -> IncoherenceNull:
    """Incoherence of independent Gaussian vectors with the states' covariance Σ: mean and maximum, both simulated.

    Harsher than a rotation, since states crowd into few directions and chance cosines are larger there. If z is
    standard normal, the inner products zᵀΣz′ are distributed as those of N(0, Σ): no root of Σ is needed. Each draw of
    positions + contexts vectors is cut at random into the two kinds several times, which steadies the maximum.
    """
    rng = np.random.default_rng(seed)
    count = positions + contexts
    means = np.zeros(len(covariance))
    highest = np.zeros(len(covariance))
    for _ in range(draws):
        gaussian = rng.standard_normal((count, covariance.shape[1]))
        orders = np.array([rng.permutation(count) for _ in range(cuts)])
        for layer, sigma in enumerate(covariance):
            products = np.abs(gaussian @ sigma @ gaussian.T)
            norms = np.sqrt(np.diagonal(products))
            norms = np.where(norms > 0, norms, np.nan)
            cosines = products / np.outer(norms, norms)
            for order in orders:
                block = cosines[np.ix_(order[:positions], order[positions:])]
                means[layer] += block.mean()
                highest[layer] += block.max()
    return IncoherenceNull(means / (draws * cuts), highest / (draws * cuts))


def theorem2_bound(sparsity: float, incoherence_max: float) -> float:
    """4s(2ι + ι²): the largest |log ratio| in Theorem 2 of Song & Zhong, the constant behind the O(incoh) of (14).

    s is the number of terms a·u·vᵀ, |a| ≤ 1, in each of the four matrices, or the sum of their |a|. Of the three
    products that each matrix should not feel, two hold one small inner product and the third holds two. Attained: it is
    tight.
    """
    return 4 * sparsity * (2 * incoherence_max + incoherence_max**2)


def theorem2(
    position_basis: Float[np.ndarray, "position d_model"],
    context_basis: Float[np.ndarray, "context d_model"],
    W: Float[np.ndarray, "d_model d_model_"],
) -> Theorem2:
    """How far exp(xᵀ W x′) departs from factorising into position and context parts on a run's own bases, in nats.

    W (scale counted) is written in the joint basis of unit position and context vectors: W = Σ W_αβ on every sum of the
    two, α and β being context or position. Over x = ctx_c + pos_t and x′ = ctx_c + pos_t′ of the same context, mean and
    residual left out,

        departure = max |log K_W(x, x′) − Σ_αβ log K_{W_αβ}(x_α, x′_β)|  ≤  bound = Σ_αβ s_αβ · (2ι + ι²),

    s_αβ the sum of the absolute coefficients of W_αβ (least squares: a sparser choice may exist, and the bound may be
    very loose). Vectors longer than 1 are measured in units of the longest, which the coefficients pay for. A zero
    vector: NaN.
    """
    contexts = len(context_basis)
    vectors = np.concatenate([context_basis, position_basis]).astype(np.float64, copy=False)
    lengths = np.linalg.norm(vectors, axis=1)
    if not lengths.all():
        return Theorem2(float("nan"), float("nan"))
    unit = unit_vectors(vectors)
    inverse = np.linalg.pinv(unit)
    coefficients = inverse.T @ W @ inverse
    inner = vectors @ unit.T
    own = inner.copy()
    own[:contexts, contexts:] = own[contexts:, :contexts] = 0
    excess = inner @ coefficients @ inner.T - own @ coefficients @ own.T
    departure = 0.0
    for context in range(contexts):
        at_query = excess[contexts:, [context]] + excess[contexts:, contexts:]
        departures = at_query + excess[context, contexts:] + excess[context, context]
        departure = max(departure, float(np.abs(departures).max()))
    cross = float(np.abs(unit[:contexts] @ unit[contexts:].T).max())
    return Theorem2(departure, theorem2_bound(float(np.abs(coefficients).sum() * lengths.max() ** 2) / 4, cross))

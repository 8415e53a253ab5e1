"""Theorem 2 of Song & Zhong: how far a kernel exp(xᵀWx′) departs from factorising into position and context parts."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from armillary.measures.similarity import unit_vectors

KERNELS = 4


class Theorem2(NamedTuple):
    """Largest departure |log ratio| of the kernel from factorising, and the bound on it."""

    departure: float
    bound: float


class KernelDeparture(NamedTuple):
    """The largest departure of random sparse kernels on a run's own bases, and Theorem 2's bound, in nats."""

    kernel_departure: float
    kernel_bound: float


def theorem2_bound(sparsity: float, incoherence_max: float) -> float:
    """4s(2ι + ι²): the largest |log ratio| in Theorem 2 of Song & Zhong, the constant behind the O(incoh) of (14).

    s is the number of terms a·u·vᵀ, |a| ≤ 1, in each of the four matrices, or the sum of their |a|. Of the three
    products that each matrix should not feel, two hold one small inner product and the third holds two. Attained: it is
    tight.
    """
    return 4 * sparsity * (2 * incoherence_max + incoherence_max**2)


def kernel_departure(
    position_basis: Float[np.ndarray, "position d_model"],
    context_basis: Float[np.ndarray, "context d_model"],
    incoherence_max: float,
) -> KernelDeparture:
    """Theorem 2 on the unit vectors of a run, for the sparsest kernels: one term in each of the four blocks of W.

    W = Σ_αβ ± u_α v_βᵀ, α and β being context or position, u_α and v_β unit vectors of the run drawn at random
    (seeded), signs too. The departure is the largest |xᵀWx′ − Σ_αβ x_αᵀ W_αβ x′_β| over x = c + t and x′ = c + t′, all
    contexts c and positions t, t′, over four such kernels; the bound is 4(2ι + ι²) with the run's own ι, for s = 1. It
    holds always; how far below it the departure lies is what the theorem leaves open. NaN where a vector is zero.
    """
    if np.isnan(incoherence_max):
        return KernelDeparture(float("nan"), float("nan"))
    unit = unit_vectors(np.concatenate([context_basis, position_basis]))
    contexts, rng = len(context_basis), np.random.default_rng(0)
    of_context = rng.integers(contexts, size=(KERNELS, 4))
    of_position = rng.integers(contexts, len(unit), size=(KERNELS, 4))
    terms = np.concatenate([of_context, of_position], axis=1)[:, [0, 1, 4, 5, 2, 6, 3, 7]]
    inner = (unit @ unit[terms.ravel()].T).reshape(len(unit), KERNELS, 8)
    inner[:, :, :4] *= rng.choice([-1.0, 1.0], size=(KERNELS, 4))
    departures = [largest_departure(excess_of(inner[:, kernel], contexts), contexts) for kernel in range(KERNELS)]
    return KernelDeparture(max(departures), theorem2_bound(1.0, incoherence_max))


def excess_of(inner: Float[np.ndarray, "vector term"], contexts: int) -> Float[np.ndarray, "vector vector_"]:
    """What one term u vᵀ per block adds to yᵀWy′ beyond its own block, for all pairs of unit vectors y, y′.

    `inner` holds the inner products of all vectors with the four u and the four v of the blocks context-context,
    context-position, position-context, position-position.
    """
    left, right = inner[:, :4], inner[:, 4:]
    own_left, own_right = left.copy(), right.copy()
    own_left[contexts:, :2] = own_left[:contexts, 2:] = 0
    own_right[contexts:, ::2] = own_right[:contexts, 1::2] = 0
    return left @ right.T - own_left @ own_right.T


def largest_departure(excess: Float[np.ndarray, "vector vector_"], contexts: int) -> float:
    """The largest |Σ excess| over y in {c, t}, y′ in {c, t′}, all contexts c (the first rows) and positions t, t′.

    Contexts are taken in the order of an upper bound on their departure, and those whose bound is no larger than what
    was already found are not looked at.
    """
    at_query, at_key, both = excess[contexts:, :contexts].T, excess[:contexts, contexts:], excess[contexts:, contexts:]
    at_key = at_key + np.diagonal(excess)[:contexts, None]
    highest = (at_query + both.max(axis=1)).max(axis=1) + at_key.max(axis=1)
    lowest = (at_query + both.min(axis=1)).min(axis=1) + at_key.min(axis=1)
    limits = np.maximum(highest, -lowest)
    found = 0.0
    for context in np.argsort(-limits):
        if limits[context] <= found:
            break
        departures = both + at_query[context][:, None]
        departures += at_key[context]
        found = max(found, float(departures.max()), -float(departures.min()))
    return found


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
    departure = largest_departure(inner @ coefficients @ inner.T - own @ coefficients @ own.T, contexts)
    cross = float(np.abs(unit[:contexts] @ unit[contexts:].T).max())
    return Theorem2(departure, theorem2_bound(float(np.abs(coefficients).sum() * lengths.max() ** 2) / 4, cross))

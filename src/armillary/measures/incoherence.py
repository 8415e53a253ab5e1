"""How nearly orthogonal position and context vectors are, and what chance gives: Song & Zhong, Table 1, section 5."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln
from scipy.stats import beta

from armillary.measures.chance import chance_cosine, spectrum_of
from armillary.measures.errors.leave_out import count_of, leave_out
from armillary.measures.similarity import unit_vectors

DRAWS = 4  # random bases behind the maximum of each null


class Incoherence(NamedTuple):
    """Mean and maximum over (position, context) of the absolute cosine, and the range of the maximum.

    The range is the lowest and the highest maximum over the sets that leave one group of documents out.
    """

    incoherence_mean: float
    incoherence_max: float
    incoherence_max_low: float
    incoherence_max_high: float


class IncoherenceNull(NamedTuple):
    """Mean and maximum, expected of vectors that know nothing of each other."""

    incoherence_mean_null_rotation: float
    incoherence_max_null_rotation: float
    incoherence_mean_null_covariance: float
    incoherence_max_null_covariance: float


class MeanAndMaximum(NamedTuple):
    """The two incoherences of one null."""

    mean: float
    maximum: float


def incoherence(
    position_basis: Float[np.ndarray, "position d_model"],
    context_basis: Float[np.ndarray, "context d_model"],
    group: Int[np.ndarray, "context"],
) -> Incoherence:
    """Mean and maximum of |cos| over all pairs of a position vector and a context vector, 0 to 1.

    Song & Zhong's Table 1 says mean, their section 5 maximum: two different numbers, and two different nulls. The mean
    has no interval: what noise is left in both bases adds to every |cos|, so that it falls as windows are added, and
    its scatter says nothing about that. The maximum's range leaves contexts out by groups of documents; the position
    basis stays as it is. NaN where a vector is zero.
    """
    cosines = np.abs(unit_vectors(position_basis) @ unit_vectors(context_basis).T)
    highest = np.where(leave_out(group, count_of(group)), cosines.max(axis=0), 0.0).max(axis=1)
    several = len(highest) > 2
    return Incoherence(
        incoherence_mean=float(cosines.mean()),
        incoherence_max=float(highest[0]),
        incoherence_max_low=float(highest[1:].min()) if several else float("nan"),
        incoherence_max_high=float(highest[1:].max()) if several else float("nan"),
    )


def incoherence_null(
    position_basis: Float[np.ndarray, "position d_model"],
    context_basis: Float[np.ndarray, "context d_model"],
    covariance: Float[np.ndarray, "d_model d_model_"],
) -> IncoherenceNull:
    """Both nulls of the incoherence: `null_rotation` and the harsher `null_covariance`."""
    return IncoherenceNull(
        *null_rotation(position_basis, context_basis),
        *null_covariance(covariance, len(position_basis), len(context_basis)),
    )


def mean_absolute_cosine(d_model: int) -> float:
    """E|cos| of a uniform direction with any other: Γ(d/2) / (√π Γ((d+1)/2)), about √(2/(π d)), d = d_model."""
    return float(np.exp(gammaln(d_model / 2) - gammaln((d_model + 1) / 2)) / np.sqrt(np.pi))


def null_rotation(
    position_basis: Float[np.ndarray, "position d_model"],
    context_basis: Float[np.ndarray, "context d_model"],
    draws: int = DRAWS,
    seed: int = 0,
) -> MeanAndMaximum:
    """Incoherence of the same two bases after a random rotation of one: mean exact, maximum averaged over draws.

    Both bases keep their own Gram matrices, so a smooth, low-rank position basis has the smaller maximum that it
    should. A rotation only moves the frame of the smaller basis: a Gaussian matrix made orthonormal, the same for all
    layers.
    """
    d_model = position_basis.shape[1]
    bases = [unit_vectors(basis).astype(np.float32) for basis in (position_basis, context_basis)]
    small, large = sorted(bases, key=len)
    if np.isnan(small).any() or np.isnan(large).any():
        return MeanAndMaximum(float("nan"), float("nan"))
    coordinates = np.linalg.qr(small.T, mode="r")
    rotated = (large @ random_frames(d_model, len(coordinates), draws, seed)).reshape(-1, len(coordinates))
    cosines = np.abs(rotated @ coordinates).reshape(len(large), draws, -1)
    return MeanAndMaximum(mean_absolute_cosine(d_model), float(cosines.max(axis=(0, 2)).mean()))


@lru_cache(maxsize=4)
def random_frames(d_model: int, count: int, draws: int, seed: int) -> Float[np.ndarray, "d_model column"]:
    """`draws` uniform orthonormal frames of `count` vectors each, side by side, float32."""
    rng = np.random.default_rng(seed)
    frames = []
    for _ in range(draws):
        gaussian = rng.standard_normal((d_model, count))
        # Any orthonormal basis of its columns that commutes with rotations is uniform; Cholesky's is the cheapest.
        frames.append(np.linalg.solve(np.linalg.cholesky(gaussian.T @ gaussian), gaussian.T).T)
    return np.concatenate(frames, axis=1).astype(np.float32)


def null_covariance(
    covariance: Float[np.ndarray, "d_model d_model_"], positions: int, contexts: int, draws: int = DRAWS, seed: int = 0
) -> MeanAndMaximum:
    """Incoherence of independent Gaussian vectors with the states' covariance: mean and maximum, both simulated.

    Harsher than a rotation, since states crowd into few directions and chance cosines are larger there. Only the
    spectrum matters: `chance_cosine` gives the mean, and a few draws of as many positions and contexts the maximum.
    """
    spectrum = spectrum_of(covariance)
    if spectrum is None:
        return MeanAndMaximum(float("nan"), float("nan"))
    leading, spread = spectrum.leading.astype(np.float32), np.float32(np.sqrt(spectrum.rest_square))
    first, second, noise = gaussian_bases(len(leading), positions, contexts, draws, seed)
    cosines = np.abs((first * leading) @ second.swapaxes(1, 2) + spread * noise)
    cosines /= np.sqrt(first**2 @ leading + np.float32(spectrum.rest))[:, :, None]
    cosines /= np.sqrt(second**2 @ leading + np.float32(spectrum.rest))[:, None, :]
    return MeanAndMaximum(chance_cosine(spectrum), float(cosines.max(axis=(1, 2)).mean()))


@lru_cache(maxsize=4)
def gaussian_bases(
    modes: int, positions: int, contexts: int, draws: int, seed: int
) -> tuple[
    Float[np.ndarray, "draw position mode"],
    Float[np.ndarray, "draw context mode"],
    Float[np.ndarray, "draw position context"],
]:
    """Normal vectors in the place of both bases, and what small directions add to their products; for all layers."""
    rng = np.random.default_rng(seed)
    shapes = (draws, positions, modes), (draws, contexts, modes), (draws, positions, contexts)
    first, second, noise = (rng.standard_normal(shape, dtype=np.float32) for shape in shapes)
    return first, second, noise


def largest_cosine(d_model: int, pairs: int) -> float:
    """Median of the largest |cos| over independent pairs of uniform directions; cos² ~ Beta(½, (d_model − 1)/2).

    Cosines of all positions with all contexts are nearly independent pairs. √(2 ln(2n)/d) is 10 to 18 % too large at
    the sizes of Table 1.
    """
    tail = -np.expm1(-np.log(2) / pairs)
    return float(np.sqrt(beta.isf(tail, 0.5, (d_model - 1) / 2)))

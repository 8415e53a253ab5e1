"""Entropy and mutual information from samples of a Gaussian, without the bias of the plug-in estimate.

A scatter matrix of n samples is Wishart, and the expectation of its log-determinant is known exactly: log |Σ| plus a
sum of digamma functions. Taking that off leaves no bias at any n. Shrinking the covariance is no way to do this: at
p = q = 16, n = 80 and a truth of 13.3 nats Ledoit and Wolf's estimate gives 3.5, the plug-in 15.4.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import polygamma, psi

from armillary.measures.gaussian.information import (
    Estimate,
    Matrix,
    canonical_correlations,
    gaussian_entropy,
    mutual_information,
)

Samples = Float[np.ndarray, "sample mode"]


def fewest_samples(dimensions: int) -> int:
    """How many samples a covariance of d dimensions needs to be positive definite, its mean estimated too."""
    return dimensions + 1


def refuse_few(samples: int, dimensions: int) -> None:
    """Refuse an estimate from so few samples that the covariance has no determinant."""
    if samples < fewest_samples(dimensions):
        raise ValueError(
            f"expected at least {fewest_samples(dimensions)} samples for {dimensions} dimensions, got {samples}: "
            f"add samples, or keep {max(samples - 1, 0)} directions at most"
        )


def log_determinant_bias(dimensions: int, degrees: int | float) -> float:
    """E log |S/m| − log |Σ| for a Wishart scatter S of m degrees: Σ_k ψ((m − k)/2) − d log(m/2), k = 0 … d − 1.

    Negative, about −d(d + 1)/2m. With the mean estimated from n samples m is n − 1.
    """
    return float(np.sum(psi((degrees - np.arange(dimensions)) / 2)) - dimensions * np.log(degrees / 2))


def entropy_estimate(samples: Samples) -> Estimate:
    """Entropy of the Gaussian that the samples are from, unbiased, with its exact standard error ½ √Σ ψ′((m − k)/2)."""
    count, size = samples.shape
    refuse_few(count, size)
    degrees = count - 1
    value = corrected_entropy(np.atleast_2d(np.cov(samples.T)), degrees)
    return Estimate(value, float(np.sqrt(np.sum(polygamma(1, (degrees - np.arange(size)) / 2))) / 2))


def corrected_entropy(covariance: Matrix, degrees: int | float) -> float:
    """The plug-in entropy of a sample covariance of m degrees, less its bias."""
    return gaussian_entropy(covariance) - log_determinant_bias(len(covariance), degrees) / 2


def information_estimate(first: Samples, second: Samples) -> Estimate:
    """Mutual information of two blocks from paired samples, unbiased where they are Gaussian, with a standard error.

    The error is √(Σ ρ²/m + pq/2m²), ρ the canonical correlations: the first term by the delta method, the second what
    is left where all are 0. Samples are taken for independent; for tokens of a text see `information_by_distance`.
    """
    count, size = first.shape
    other = second.shape[1]
    refuse_few(count, size + other)
    degrees = count - 1
    covariance = np.cov(np.concatenate([first, second], axis=1).T)
    value = corrected_information(covariance, size, degrees)
    energy = float(np.sum(canonical_correlations(covariance, size) ** 2)) - size * other / degrees
    return Estimate(value, float(np.sqrt(max(energy, 0.0) / degrees + size * other / (2 * degrees**2))))


def corrected_information(covariance: Matrix, first: int, degrees: int | float) -> float:
    """The plug-in mutual information of a sample covariance of m degrees, less its bias; may be negative."""
    return mutual_information(covariance, first) - information_bias(first, len(covariance) - first, degrees)


def information_bias(first: int, second: int, degrees: int | float) -> float:
    """By how much the plug-in mutual information of blocks of p and q is too large, about pq/2m, whatever the truth."""
    sizes = (first, second, first + second)
    alone, other, both = (log_determinant_bias(size, degrees) for size in sizes)
    return (alone + other - both) / 2


def plug_in_information(first: Samples, second: Samples) -> float:
    """½ log(|S_x| |S_y| / |S|) of the sample covariances: the uncorrected estimate."""
    refuse_few(len(first), first.shape[1] + second.shape[1])
    return mutual_information(np.cov(np.concatenate([first, second], axis=1).T), first.shape[1])

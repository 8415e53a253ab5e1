"""Mean |cosine| of two independent Gaussian vectors, from the spectrum of their covariance: similarity by chance."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

LEADING = 64
"""How many eigenvalues are simulated one by one; the others only as sums, which hardly vary."""

PAIRED, SINGLE = 512, 1 << 14
"""How many vectors meet each other, and how many say what is usual for a single one."""


STEPS = 2
"""Power iterations from a random start, each with Σ: eigenvalues that stand out are then exact to many digits."""


class Spectrum(NamedTuple):
    """The leading eigenvalues of a covariance, largest first, and the others' sum and sum of squares; trace 1."""

    leading: Float[np.ndarray, " mode"]
    rest: float
    rest_square: float


def spectrum_of(covariance: Float[np.ndarray, "d_model d_model_"]) -> Spectrum | None:
    """A covariance's spectrum without a full decomposition, by power iteration (Halko and others 2011); None for zero.

    Eigenvalues that lie close together are found a little too small, and what they lack falls to the others' sum.
    """
    trace = float(np.trace(covariance, dtype=np.float64))
    if not trace > 0:
        return None
    scaled = covariance.astype(np.float32, copy=False) / np.float32(trace)
    found = scaled @ _start(len(scaled))
    for _ in range(STEPS):
        found = scaled @ np.linalg.qr(found).Q
    frame = np.linalg.qr(found).Q
    leading = np.linalg.eigvalsh(frame.T @ scaled @ frame)[::-1].clip(0).astype(np.float64)
    square = float(np.einsum("ij,ij->", scaled, scaled, dtype=np.float64))
    rest, rest_square = max(1 - float(leading.sum()), 0.0), max(square - float(np.sum(leading**2)), 0.0)
    return Spectrum(leading, rest, rest_square)


def spectrum_from(eigenvalues: Float[np.ndarray, " mode"]) -> Spectrum | None:
    """The spectrum of known eigenvalues, largest first; None where all are zero."""
    total = float(eigenvalues.sum())
    if not total > 0:
        return None
    shares = eigenvalues.astype(np.float64) / total
    rest = shares[LEADING:]
    return Spectrum(shares[:LEADING], float(rest.sum()), float(np.sum(rest**2)))


def chance_cosine(spectrum: Spectrum | None) -> float:
    """E|cos(x, y)| of independent x, y ~ N(0, Σ), from Σ's spectrum; NaN without one.

    Simulated, to about half a per cent. What makes a simulation scatter is how far single vectors point along
    the leading directions, for all their pairs share it: h(x) = √(xᵀΣx / (‖x‖² tr Σ)), to which E|cos(x, y)| at given x
    is nearly proportional. Its mean is known well from 16 384 vectors, at no cost for they need not meet; the 512 that
    do meet are corrected by how unusual they are (a control variate). One seed, so that layers differ in nothing else.
    """
    if spectrum is None:
        return float("nan")
    leading = spectrum.leading.astype(np.float32)
    normals, squares, noise = _draws(len(leading))
    lengths, along = (squares @ np.stack([leading, leading**2], 1) + [spectrum.rest, spectrum.rest_square]).T
    usual = np.sqrt(along / lengths)
    inner = (normals * leading) @ normals.T + np.float32(np.sqrt(spectrum.rest_square)) * noise
    inner /= np.sqrt(np.outer(lengths[:PAIRED], lengths[:PAIRED]))
    np.fill_diagonal(inner, 0)
    found = float(np.abs(inner).sum(dtype=np.float64)) / (PAIRED * (PAIRED - 1))
    mean = float(usual.mean(dtype=np.float64))
    return found * (1 - 2 * (float(usual[:PAIRED].mean(dtype=np.float64)) / mean - 1))


@lru_cache(maxsize=4)
def _draws(width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normal vectors that meet, the squares of all, and the noise that the small eigenvalues add to a product."""
    rng = np.random.default_rng(0)
    normals = rng.standard_normal((SINGLE, width), dtype=np.float32)
    return normals[:PAIRED].copy(), normals**2, rng.standard_normal((PAIRED, PAIRED), dtype=np.float32)


@lru_cache(maxsize=4)
def _start(d_model: int) -> Float[np.ndarray, "d_model mode"]:
    """Random directions to begin the power iteration with, float32."""
    return np.random.default_rng(0).standard_normal((d_model, min(LEADING, d_model)), dtype=np.float32)

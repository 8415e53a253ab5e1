"""Mean |cosine| of two independent Gaussian vectors, from the spectrum of their covariance: similarity by chance."""

from functools import lru_cache

import numpy as np
from jaxtyping import Float

LEADING = 64
"""How many eigenvalues are simulated one by one; the others only as sums, which hardly vary."""

PAIRED, SINGLE = 512, 1 << 14
"""How many vectors meet each other, and how many say what is usual for a single one."""


def chance_cosine(spectrum: Float[np.ndarray, " mode"]) -> float:
    """E|cos(x, y)| of independent x, y ~ N(0, Σ), from Σ's eigenvalues, largest first; NaN where all are 0.

    Simulated, to about half a per cent. What makes a simulation scatter is how far single vectors point along
    the leading directions, for all their pairs share it: h(x) = √(xᵀΣx / (‖x‖² tr Σ)), to which E|cos(x, y)| at given x
    is nearly proportional. Its mean is known well from 16 384 vectors, at no cost for they need not meet; the 512 that
    do meet are corrected by how unusual they are (a control variate). One seed, so that layers differ in nothing else.
    """
    total = float(spectrum.sum())
    if not total > 0:
        return float("nan")
    leading = (spectrum[:LEADING] / total).astype(np.float32)
    rest = spectrum[LEADING:] / total
    normals, squares, noise = _draws(len(leading))
    lengths, along = (squares @ np.stack([leading, leading**2], 1) + [rest.sum(), np.sum(rest**2)]).T
    usual = np.sqrt(along / lengths)
    inner = (normals * leading) @ normals.T + np.float32(np.linalg.norm(rest)) * noise
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

"""How many dimensions the cloud of states has where it is dense: TwoNN (Facco, d'Errico, Rodriguez, Laio 2017)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

SAME = 1e-12  # squared distance over squared length: below it, float64 inner products cannot tell two states apart


class Dimension(NamedTuple):
    """TwoNN dimension and its standard error."""

    dimension_twonn: float
    dimension_twonn_se: float


def dimension_twonn(gram: Float[np.ndarray, "sample sample_"], discard: float = 0.1) -> Dimension:
    """Intrinsic dimension of a sample from its inner products, by maximum likelihood with the upper tail censored.

    The ratio μ of a state's distances to its second and first neighbour has log μ ~ Exponential(D) where density is
    constant over both. Of n logs in order, the largest `discard` share is known only to lie above log μ_(r):

        D = (r − 1) / (Σ_{i≤r} log μ_(i) + (n − r) log μ_(r)),   standard error D/√(r − 2),

    unbiased for independent ratios. (Facco et al. fit a line through the origin to the same points; this is its
    likelihood.) States that coincide count once: at layer 0 the same token has the same state. Limits: it speaks of the
    scale that n sets, and edges and uneven density lower it from about 10 on (512 points in a 20-dimensional cube read
    as 15). Fewer than 5 different states, or ratios that are all 1: NaN.
    """
    squares = np.diagonal(gram)
    sums = squares[:, None] + squares
    distances = sums - 2 * gram
    repeated = np.tril(distances <= SAME * sums, -1).any(axis=1)
    if repeated.any():
        distances = distances[~repeated][:, ~repeated]
    if len(distances) < 5:
        return Dimension(float("nan"), float("nan"))
    np.fill_diagonal(distances, np.inf)
    nearest = distances.argmin(axis=1)
    rows = np.arange(len(distances))
    first = distances[rows, nearest]
    distances[rows, nearest] = np.inf
    second = distances.min(axis=1)
    logs = np.sort(np.log(second / first)) / 2
    kept = max(int(np.ceil(len(logs) * (1 - discard))), 3)
    total = logs[:kept].sum() + (len(logs) - kept) * logs[kept - 1]
    dimension = (kept - 1) / total if total > 0 else float("nan")
    return Dimension(float(dimension), float(dimension / np.sqrt(kept - 2)))

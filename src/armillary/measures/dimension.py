"""How many dimensions the cloud of states has where it is dense: TwoNN (Facco, d'Errico, Rodriguez, Laio 2017)."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import fft

from armillary.measures.massive import counted_states

SAME = 64  # squared distance over squared length, in units of rounding: below it, two states are one
SIZES = (32, 64, 128, 256, 512)
"""The sample sizes of the scale curve."""

PARTS = 4  # at most this many disjoint parts of the sample are averaged at each size
ROTATIONS = 3  # random rotations behind the null


class Dimension(NamedTuple):
    """TwoNN dimension, the same by sample size, and that of Gaussian clouds of its size and covariance."""

    dimension_twonn: float
    dimension_twonn_by_size: Float[np.ndarray, "size"]
    dimension_twonn_null: float
    dimension_twonn_null_sd: float


def dimension(
    states: Float[np.ndarray, "sample d_model"], massive: Bool[np.ndarray, "sample"], holes: int
) -> Dimension:
    """Intrinsic dimension of the sampled states by `twonn`, beside that of the same cloud made Gaussian.

    States that coincide count once: at layer 0 the same token has the same state. The dimension depends on the number
    of points, so it is also given for disjoint random parts of 32, 64, ... of them. It has no interval: neither its
    likelihood nor any resampling of documents gives one that covers. The null is the cloud rotated at random among its
    points (`gaussianised`): a Gaussian cloud of as many points and exactly the same sample covariance; mean and
    standard deviation over rotations. A dimension below it is curvature or clustering that the covariance does not
    show.
    """
    sample = counted_states(states, massive, holes)
    sample = sample - sample.mean(axis=0)
    gram = sample @ sample.T
    distances = squared_distances(gram)
    different = different_states(distances, np.diagonal(gram))
    if not different.all():
        gram, distances = gram[different][:, different], distances[different][:, different]
    order = np.random.default_rng(0).permutation(len(gram))
    nulls = [twonn(squared_distances(rotated)) for rotated in gaussianised(gram, ROTATIONS)]
    return Dimension(
        dimension_twonn_by_size=np.array([mean_of_parts(distances, order, size) for size in SIZES]),
        dimension_twonn=twonn(distances),
        dimension_twonn_null=float(np.mean(nulls)),
        dimension_twonn_null_sd=float(np.std(nulls, ddof=1)),
    )


def mean_of_parts(
    distances: Float[np.ndarray, "sample sample_"], order: Int[np.ndarray, " sample"], size: int
) -> float:
    """The mean dimension of disjoint parts of `size` points; NaN where there are not as many points."""
    parts = [order[start : start + size] for start in range(0, len(order) - size + 1, size)][:PARTS]
    return float(np.mean([twonn(distances[np.ix_(part, part)]) for part in parts])) if parts else float("nan")


def squared_distances(gram: Float[np.ndarray, "sample sample_"]) -> Float[np.ndarray, "sample sample_"]:
    """Squared distances from inner products, infinite on the diagonal: nobody is his own neighbour."""
    squares = np.diagonal(gram)
    distances = gram * -2
    distances += squares[:, None]
    distances += squares
    np.fill_diagonal(distances, np.inf)
    return distances


def different_states(
    distances: Float[np.ndarray, "sample sample_"], squares: Float[np.ndarray, " sample"]
) -> Bool[np.ndarray, " sample"]:
    """Which states are not the same, up to rounding, as one before them."""
    limit = SAME * np.finfo(distances.dtype).eps * squares
    if not (distances.min(axis=1, initial=np.inf) <= 2 * limit).any():
        return np.ones(len(squares), dtype=bool)
    return ~np.tril(distances <= limit[:, None] + limit, -1).any(axis=1)


def twonn(distances: Float[np.ndarray, "sample sample_"], discard: float = 0.1) -> float:
    """Intrinsic dimension from squared distances, by maximum likelihood with the upper tail censored.

    The ratio μ of a state's distances to its second and first neighbour has log μ ~ Exponential(D) where density is
    constant over both. Of n logs in order, the largest `discard` share is known only to lie above log μ_(r):

        D = (r − 1) / (Σ_{i≤r} log μ_(i) + (n − r) log μ_(r)),

    unbiased for independent ratios. (Facco et al. fit a line through the origin to the same points; this is its
    likelihood.) Limits: it speaks of the scale that n sets, and edges and uneven density lower it from about 10 on (512
    points in a 20-dimensional cube read as 15). Fewer than 5 states, or ratios that are all 1: NaN. The distances are
    given up.
    """
    if len(distances) < 5:
        return float("nan")
    rows, nearest = np.arange(len(distances)), distances.argmin(axis=1)
    first = distances[rows, nearest]
    distances[rows, nearest] = np.inf
    second = distances.min(axis=1)
    logs = np.sort(np.log((second / first).astype(np.float64))) / 2
    kept = max(int(np.ceil(len(logs) * (1 - discard))), 3)
    total = logs[:kept].sum() + (len(logs) - kept) * logs[kept - 1]
    return float((kept - 1) / total) if total > 0 else float("nan")


def gaussianised(
    gram: Float[np.ndarray, "sample sample_"], rotations: int, seed: int = 0
) -> Iterator[Float[np.ndarray, "sample sample_"]]:
    """Inner products after random rotations among the points: each a mixture of all, mean and covariance kept.

    The points in a random order, a cosine transform over them, a random sign for each frequency but 0, and back: an
    orthogonal matrix that keeps the vector of ones. Gaussian points keep their distribution under any such rotation,
    whatever their covariance, so the null of a Gaussian cloud is exactly distributed as the cloud itself (Langsrud
    2005); other clouds become nearly Gaussian, since each new point is a sum over all old ones with random weights. The
    order must be random: neighbours in a text are alike, and a transform along the text would leave them so.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(gram))
    coefficients = fft.dctn(gram[np.ix_(order, order)], norm="ortho")
    for _ in range(rotations):
        signs = rng.choice(np.array([-1, 1], dtype=gram.dtype), size=len(gram))
        signs[:1] = 1
        yield fft.idctn(coefficients * signs[:, None] * signs, norm="ortho", overwrite_x=True)

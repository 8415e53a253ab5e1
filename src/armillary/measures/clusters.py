"""Whether vectors cluster by a label (contexts by document), each number beside what shuffled labels give."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from armillary.measures.errors.leave_out import count_of, jackknifed, leave_out, unknown

CELLS = 2_000_000  # of a table [labelling label context]: 16 MB at a time, or more for one labelling of a large corpus


class Silhouette(NamedTuple):
    """Mean silhouette, −1 to 1, with its error over documents (`Jackknifed`), and its mean over shuffled labels."""

    silhouette: float
    silhouette_se: float
    silhouette_without: Float[np.ndarray, "group"]
    silhouette_null: float


class Purity(NamedTuple):
    """Share of nearest neighbours with the same label, 0 to 1, with its error; its mean over shuffled labels."""

    purity: float
    purity_se: float
    purity_without: Float[np.ndarray, "group"]
    purity_null: float


def silhouette(
    cosines: Float[np.ndarray, "context context_"],
    label: Int[np.ndarray, " context"],
    group: Int[np.ndarray, " context"],
    shuffles: int = 8,
    seed: int = 0,
) -> Silhouette:
    """Mean silhouette (b − a)/max(a, b) by cosine distance (Rousseeuw 1987), with a permutation null.

    a is a vector's mean distance 1 − cos to the others of its label, b to the nearest other label; a vector alone with
    its label counts 0. Error: jackknife over `group`. One label only, or as many labels as vectors: NaN, there is
    nothing to set apart.
    """
    names, label = np.unique(label, return_inverse=True)
    if not 2 <= len(names) < len(label) or np.isnan(cosines).any():
        return Silhouette(*unknown(count_of(group)), float("nan"))
    distance = 1 - cosines.astype(np.float64)
    kept = leave_out(group, count_of(group))
    rng = np.random.default_rng(seed)
    shuffled = np.array([rng.permutation(label) for _ in range(shuffles)])
    labels = np.concatenate([np.tile(label, (len(kept), 1)), shuffled])
    values = mean_silhouettes(distance, labels, np.concatenate([kept, np.ones_like(shuffled, dtype=bool)]))
    found, null = values[: len(kept)], values[len(kept) :]
    return Silhouette(*jackknifed(found), float(null.mean()))


def mean_silhouettes(
    distance: Float[np.ndarray, "context context_"],
    labels: Int[np.ndarray, "labelling context"],
    kept: Bool[np.ndarray, "labelling context"],
) -> Float[np.ndarray, " labelling"]:
    """The mean silhouette of the kept vectors under each labelling; NaN where fewer than two labels are kept."""
    step = max(1, CELLS // (labels.shape[1] * (int(labels.max()) + 1)))
    parts = [slice(start, start + step) for start in range(0, len(labels), step)]
    return np.concatenate([_mean_silhouettes(distance, labels[part], kept[part]) for part in parts])


def _mean_silhouettes(
    distance: Float[np.ndarray, "context context_"],
    labels: Int[np.ndarray, "labelling context"],
    kept: Bool[np.ndarray, "labelling context"],
) -> Float[np.ndarray, " labelling"]:
    (count, contexts), names = labels.shape, int(labels.max()) + 1
    rows = labels + names * np.arange(count)[:, None]
    where = (rows.ravel(), np.tile(np.arange(contexts), count))
    member = sparse.csr_matrix((kept.ravel().astype(np.float64), where), shape=(count * names, contexts))
    totals = (member @ distance).reshape(count, names, contexts)
    sizes = np.bincount(rows[kept], minlength=count * names).reshape(count, names)
    at = labels[:, None]
    own_size = np.take_along_axis(sizes, labels, axis=1)
    own = np.take_along_axis(totals, at, axis=1)[:, 0] / np.maximum(own_size - 1, 1)
    totals /= np.where(sizes > 0, sizes, np.nan)[:, :, None]
    np.put_along_axis(totals, at, np.nan, axis=1)
    nearest = np.fmin.reduce(totals, axis=1)
    larger = np.maximum(own, nearest)
    # Vectors that all coincide have a = b = 0: neither inside nor outside, so 0 like a vector alone with its label.
    value = np.divide(nearest - own, larger, out=np.zeros_like(own), where=larger != 0)
    value = np.where(own_size > 1, value, 0.0) * kept
    return np.where((sizes > 0).sum(axis=1) > 1, value.sum(axis=1) / np.maximum(kept.sum(axis=1), 1), np.nan)


def purity(
    cosines: Float[np.ndarray, "context context_"],
    label: Int[np.ndarray, " context"],
    group: Int[np.ndarray, " context"],
) -> Purity:
    """Share of vectors whose nearest neighbour by cosine bears their label, with the null in closed form.

    Under shuffled labels every neighbour is a random other vector: Σ n_l(n_l − 1) / (n(n − 1)) over labels of n_l
    vectors. Error: jackknife over `group` of the share of hits, neighbours as they are. NaN with fewer than two
    vectors, or where a vector is zero.
    """
    count, groups = len(label), count_of(group)
    if count < 2 or np.isnan(cosines).any():
        return Purity(*unknown(groups), float("nan"))
    others = cosines.copy()
    np.fill_diagonal(others, -np.inf)
    hit = label[others.argmax(axis=1)] == label
    kept = leave_out(group, groups).astype(np.float64)
    contexts = kept.sum(axis=1)
    shares = kept @ hit / np.where(contexts > 0, contexts, np.nan)
    labels = np.unique(label, return_counts=True)[1].astype(np.float64)
    expected = (labels * (labels - 1)).sum() / (count * (count - 1))
    return Purity(*jackknifed(shares), float(expected))

"""Whether vectors cluster by a label (contexts by document), each number beside what shuffled labels give."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from armillary.measures.similarity import unit_vectors


class Silhouette(NamedTuple):
    """Mean silhouette, −1 to 1, and its mean over shuffled labels."""

    silhouette: float
    silhouette_null: float


class Purity(NamedTuple):
    """Share of nearest neighbours with the same label, 0 to 1, and its expectation over shuffled labels."""

    purity: float
    purity_null: float


def silhouette(
    vectors: Float[np.ndarray, "context d_model"],
    label: Int[np.ndarray, "context"],
    permutations: int = 16,
    seed: int = 0,
) -> Silhouette:
    """Mean silhouette (b − a)/max(a, b) by cosine distance (Rousseeuw 1987), with a permutation null.

    a is a vector's mean distance 1 − cos to the others of its label, b to the nearest other label; a vector alone with
    its label counts 0. One label only, or as many labels as vectors: NaN, there is nothing to set apart.
    """
    names, label = np.unique(label, return_inverse=True)
    if not 2 <= len(names) < len(label):
        return Silhouette(float("nan"), float("nan"))
    unit = unit_vectors(vectors)
    distance = 1 - unit @ unit.T
    np.fill_diagonal(distance, 0.0)
    rng = np.random.default_rng(seed)
    null = [_mean_silhouette(distance, rng.permutation(label)) for _ in range(permutations)]
    return Silhouette(_mean_silhouette(distance, label), float(np.mean(null)) if null else float("nan"))


def purity(
    vectors: Float[np.ndarray, "context d_model"], label: Int[np.ndarray, "context"], neighbours: int = 1
) -> Purity:
    """Share of each vector's nearest neighbours by cosine that bear its label, with the null in closed form.

    Under shuffled labels every neighbour is a random other vector: Σ n_l(n_l − 1) / (n(n − 1)) over labels of n_l
    vectors. NaN with fewer vectors than neighbours + 1, or where a vector is zero.
    """
    count = len(label)
    unit = unit_vectors(vectors)
    if count <= neighbours or np.isnan(unit).any():
        return Purity(float("nan"), float("nan"))
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    nearest = np.argpartition(-cosines, neighbours - 1, axis=1)[:, :neighbours]
    sizes = np.unique(label, return_counts=True)[1].astype(np.float64)
    expected = (sizes * (sizes - 1)).sum() / (count * (count - 1))
    return Purity(float((label[nearest] == label[:, None]).mean()), float(expected))


def _mean_silhouette(distance: Float[np.ndarray, "context context_"], label: Int[np.ndarray, "context"]) -> float:
    rows = np.arange(len(label))
    member = np.eye(label.max() + 1)[label]
    sizes = member.sum(axis=0)
    totals = distance @ member
    own = totals[rows, label] / np.maximum(sizes[label] - 1, 1)
    others = totals / sizes
    others[rows, label] = np.inf
    nearest = others.min(axis=1)
    larger = np.maximum(own, nearest)
    # Vectors that all coincide have a = b = 0: neither inside nor outside, so 0 like a vector alone with its label.
    value = np.divide(nearest - own, larger, out=np.zeros_like(own), where=larger != 0)
    return float(np.where(sizes[label] > 1, value, 0.0).mean())

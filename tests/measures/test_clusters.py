from itertools import permutations

import numpy as np
import pytest

from armillary.measures.clusters import purity, silhouette


def distance(a, b):
    return 1 - a @ b / np.sqrt((a @ a) * (b @ b))


def silhouette_by_loops(vectors, label):
    values = []
    for i, vector in enumerate(vectors):
        mean = {
            name: np.mean([distance(vector, w) for j, w in enumerate(vectors) if label[j] == name and j != i] or [0.0])
            for name in set(label)
        }
        if sum(label == label[i]) == 1:
            values.append(0.0)
            continue
        own = mean.pop(label[i])
        nearest = min(mean.values())
        values.append((nearest - own) / max(own, nearest))
    return np.mean(values)


def purity_by_loops(vectors, label, neighbours):
    hits = []
    for i, vector in enumerate(vectors):
        others = sorted((distance(vector, w), label[j] == label[i]) for j, w in enumerate(vectors) if j != i)
        hits += [same for _, same in others[:neighbours]]
    return np.mean(hits)


@pytest.fixture
def clustered():
    rng = np.random.default_rng(0)
    label = np.array([5] * 6 + [2] * 5 + [9] * 4 + [11])
    return rng.standard_normal((12, 6))[label] + 0.6 * rng.standard_normal((16, 6)), label


def test_silhouette_is_rousseeuws_by_plain_loops_with_a_single_member_counted_0(clustered):
    vectors, label = clustered
    assert silhouette(vectors, label).silhouette == pytest.approx(silhouette_by_loops(vectors, label))


def test_silhouette_of_points_on_two_opposite_rays_is_1_and_of_mixed_ones_is_not():
    vectors = np.array([[1.0, 0], [2.0, 0], [-1.0, 0], [-3.0, 0]])
    assert silhouette(vectors, np.array([0, 0, 1, 1])).silhouette == pytest.approx(1)
    assert silhouette(vectors, np.array([0, 1, 0, 1])).silhouette < 0


def test_the_silhouettes_null_is_its_mean_over_all_shuffled_labels():
    vectors = np.random.default_rng(1).standard_normal((6, 3))
    label = np.array([0, 0, 0, 1, 1, 1])
    shuffled = [silhouette_by_loops(vectors, np.array(p)) for p in set(permutations(label.tolist()))]
    assert silhouette(vectors, label, permutations=3000).silhouette_null == pytest.approx(np.mean(shuffled), abs=0.01)


def test_random_vectors_have_the_silhouette_of_their_null():
    rng = np.random.default_rng(2)
    label = np.arange(64) // 4
    results = np.array([silhouette(rng.standard_normal((64, 100)), label) for _ in range(50)])
    difference = results[:, 0] - results[:, 1]
    assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(50)
    assert results[:, 0].mean() < -0.05  # the nearest of 15 other labels is nearer than one's own, by chance


def test_with_one_label_or_one_vector_per_label_there_is_no_silhouette():
    vectors = np.random.default_rng(3).standard_normal((5, 3))
    assert np.isnan(silhouette(vectors, np.zeros(5, dtype=int)).silhouette)
    assert np.isnan(silhouette(vectors, np.arange(5)).silhouette)


@pytest.mark.parametrize("neighbours", [1, 3])
def test_purity_is_the_share_of_nearest_neighbours_of_the_same_label(clustered, neighbours):
    vectors, label = clustered
    assert purity(vectors, label, neighbours).purity == pytest.approx(purity_by_loops(vectors, label, neighbours))


def test_the_puritys_null_is_its_mean_over_shuffled_labels(clustered):
    vectors, label = clustered
    rng = np.random.default_rng(4)
    shuffled = [purity(vectors, rng.permutation(label)).purity for _ in range(3000)]
    assert purity(vectors, label).purity_null == pytest.approx(np.mean(shuffled), abs=0.01)


def test_purity_needs_more_vectors_than_neighbours_and_directions():
    assert np.isnan(purity(np.eye(3), np.zeros(3, dtype=int), neighbours=3).purity)
    assert np.isnan(purity(np.zeros((3, 3)), np.zeros(3, dtype=int)).purity)

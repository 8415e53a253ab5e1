"""Silhouette and purity against plain loops, their nulls against shuffled labels, their errors against recomputing."""

from itertools import permutations

import numpy as np
import pytest
from fields import alike, all_nan

from armillary.measures import clusters
from armillary.measures.clusters import purity, silhouette
from armillary.measures.errors.jackknife import standard_error
from armillary.measures.similarity import cosine_table


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


def purity_by_loops(vectors, label):
    hits = []
    for i, vector in enumerate(vectors):
        others = sorted((distance(vector, w), label[j] == label[i]) for j, w in enumerate(vectors) if j != i)
        hits.append(others[0][1])
    return np.mean(hits)


def error_by_loops(estimate, vectors, label, group):
    names = np.unique(group)
    without = np.array([estimate(vectors[group != name], label[group != name]) for name in names])
    return float(standard_error(without))


@pytest.fixture
def clustered():
    rng = np.random.default_rng(0)
    label = np.array([5] * 6 + [2] * 5 + [9] * 4 + [11])
    return rng.standard_normal((12, 6))[label] + 0.6 * rng.standard_normal((16, 6)), label


def numbered(group):
    """Groups from 0 on, as a run has them."""
    return np.unique(group, return_inverse=True)[1]


def silhouette_of(vectors, label, group=None, **options):
    return silhouette(cosine_table(vectors), label, numbered(label if group is None else group), **options)


def purity_of(vectors, label, group=None):
    return purity(cosine_table(vectors), label, numbered(label if group is None else group))


def test_silhouette_is_rousseeuws_by_plain_loops_with_a_single_member_counted_0(clustered):
    assert silhouette_of(*clustered).silhouette == pytest.approx(silhouette_by_loops(*clustered), rel=1e-5)


def test_silhouette_of_points_on_two_opposite_rays_is_1_and_of_mixed_ones_is_not():
    vectors = np.array([[1.0, 0], [2.0, 0], [-1.0, 0], [-3.0, 0]])
    assert silhouette_of(vectors, np.array([0, 0, 1, 1])).silhouette == pytest.approx(1)
    assert silhouette_of(vectors, np.array([0, 1, 0, 1])).silhouette < 0


GROUPINGS = {"whole labels": lambda label: label, "cut labels": lambda label: np.arange(len(label)) % 4}


@pytest.mark.parametrize("grouping", GROUPINGS.values(), ids=GROUPINGS)
def test_the_errors_are_the_jackknifes_of_values_recomputed_without_each_group(clustered, grouping):
    vectors, label = clustered
    group = grouping(label)
    expected = error_by_loops(silhouette_by_loops, vectors, label, group)
    assert silhouette_of(vectors, label, group).silhouette_se == pytest.approx(expected, rel=1e-4)


def test_the_puritys_error_is_that_of_the_share_of_hits_over_groups(clustered):
    vectors, label = clustered
    group = np.arange(len(label)) % 4
    nearest = [min((j for j in range(16) if j != i), key=lambda j: distance(vectors[i], vectors[j])) for i in range(16)]
    hits = label[nearest] == label
    found = purity_of(vectors, label, group)
    assert found.purity_without == pytest.approx([hits[group != name].mean() for name in range(4)])
    assert found.purity_se == pytest.approx(float(standard_error(found.purity_without)))


def test_labellings_a_few_at_a_time_give_the_same_silhouettes(clustered, monkeypatch):
    whole = silhouette_of(*clustered)
    monkeypatch.setattr(clusters, "CELLS", 100)
    alike(silhouette_of(*clustered), whole, rtol=1e-12)


def test_the_silhouettes_null_is_its_mean_over_all_shuffled_labels():
    vectors = np.random.default_rng(1).standard_normal((6, 3))
    label = np.array([0, 0, 0, 1, 1, 1])
    shuffled = [silhouette_by_loops(vectors, np.array(p)) for p in set(permutations(label.tolist()))]
    null = silhouette_of(vectors, label, shuffles=3000).silhouette_null
    assert null == pytest.approx(np.mean(shuffled), abs=0.01)


def test_random_vectors_have_the_silhouette_of_their_null():
    rng = np.random.default_rng(2)
    label = np.arange(64) // 4
    results = [silhouette_of(rng.standard_normal((64, 100)), label) for _ in range(50)]
    difference = np.array([result.silhouette - result.silhouette_null for result in results])
    assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(50)
    # The nearest of 15 other labels is nearer than one's own, by chance.
    assert np.mean([result.silhouette for result in results]) < -0.05


def test_with_one_label_or_one_vector_per_label_there_is_no_silhouette():
    vectors = np.random.default_rng(3).standard_normal((5, 3))
    assert all_nan(silhouette_of(vectors, np.zeros(5, dtype=int)))
    assert all_nan(silhouette_of(vectors, np.arange(5)))
    assert all_nan(silhouette_of(np.zeros((4, 3)), np.array([0, 0, 1, 1])))


def test_two_labels_have_a_silhouette_and_no_error_when_leaving_one_out_leaves_one():
    vectors = np.random.default_rng(4).standard_normal((6, 3))
    result = silhouette_of(vectors, np.array([0, 0, 0, 1, 1, 1]))
    assert np.isfinite(result.silhouette)
    assert np.isnan(result.silhouette_se)


def test_purity_is_the_share_of_nearest_neighbours_of_the_same_label(clustered):
    assert purity_of(*clustered).purity == pytest.approx(purity_by_loops(*clustered))


def test_the_puritys_null_is_its_mean_over_shuffled_labels(clustered):
    vectors, label = clustered
    rng = np.random.default_rng(4)
    shuffled = [purity_of(vectors, rng.permutation(label)).purity for _ in range(2000)]
    assert purity_of(vectors, label).purity_null == pytest.approx(np.mean(shuffled), abs=0.012)


def test_purity_needs_two_vectors_with_directions_and_two_groups_for_its_error():
    assert all_nan(purity_of(np.ones((1, 3)), np.zeros(1, dtype=int)))
    assert all_nan(purity_of(np.zeros((3, 3)), np.zeros(3, dtype=int)))
    assert purity_of(np.eye(3), np.zeros(3, dtype=int)).purity == 1
    assert np.isnan(purity_of(np.eye(3), np.zeros(3, dtype=int)).purity_se)
    assert np.isnan(purity_of(np.eye(2), np.zeros(2, dtype=int), np.arange(2)).purity_se)

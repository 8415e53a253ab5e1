"""Similarities against plain loops over pairs, the null against Gaussian draws of known covariance."""

from itertools import combinations

import numpy as np
import pytest

from armillary.measures.similarity import block_gram, cosine_table, similarity, similarity_null


def cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))


def by_loops(vectors, document):
    """Mean |cos| within and between documents, over pairs."""
    pairs = [
        (document[i] == document[j], abs(cosine(vectors[i], vectors[j])))
        for i, j in combinations(range(len(vectors)), 2)
    ]
    return [np.mean([value for same, value in pairs if same == wanted]) for wanted in (True, False)]


@pytest.fixture
def contexts():
    rng = np.random.default_rng(0)
    document = rng.integers(0, 6, size=25)
    return rng.standard_normal((6, 12))[document] + rng.standard_normal((25, 12)), document


def of(vectors, document):
    return similarity(cosine_table(vectors), document)


def test_similarity_is_the_mean_absolute_cosine_over_pairs_of_different_contexts(contexts):
    result, (within, between) = of(*contexts), by_loops(*contexts)
    assert result.similarity_within == pytest.approx(within, rel=1e-5)
    assert result.similarity_between == pytest.approx(between, rel=1e-5)


def test_the_null_within_is_the_highest_of_shuffled_documents_and_passed_once_in_twenty():
    rng = np.random.default_rng(6)
    vectors, document = rng.standard_normal((24, 8)), np.arange(24) // 3
    shuffled = [by_loops(vectors, rng.permutation(document))[0] for _ in range(400)]
    found = of(vectors, document)
    assert np.quantile(shuffled, 0.6) < found.similarity_within_null <= max(shuffled) * 1.05
    passed = []
    for _ in range(400):
        one = of(rng.standard_normal((24, 8)), document)
        passed.append(one.similarity_within > one.similarity_within_null)
    assert 0.02 < np.mean(passed) < 0.09
    clustered = of(rng.standard_normal((8, 8))[document] + 0.5 * vectors, document)
    assert clustered.similarity_within > clustered.similarity_within_null


def test_the_published_within_counts_every_context_with_itself(contexts):
    vectors, document = contexts
    table = [[abs(cosine(a, b)) for b in vectors] for a in vectors]
    expected = np.mean(np.array(table)[document[:, None] == document])
    assert of(vectors, document).similarity_within_published == pytest.approx(expected, rel=1e-5)


def test_without_a_pair_similarity_is_not_determined():
    vectors = np.random.default_rng(1).standard_normal((5, 3))
    alone = of(vectors, np.arange(5))
    assert np.isnan(alone.similarity_within)
    assert np.isnan(alone.similarity_within_null)
    assert alone.similarity_within_published == pytest.approx(1)
    together = of(vectors, np.zeros(5, dtype=int))
    assert np.isnan(together.similarity_between)
    assert together.similarity_within > 0


def test_a_zero_context_vector_has_no_cosine():
    vectors = np.eye(4)
    vectors[0] = 0
    assert np.isnan(of(vectors, np.array([0, 0, 1, 1])).similarity_within)
    assert np.isnan(similarity_null(np.zeros((4, 3)), np.array([0, 0, 1, 1])))


def test_random_directions_have_the_similarity_of_chance():
    vectors = np.random.default_rng(2).standard_normal((300, 200)).astype(np.float32)
    result = of(vectors, np.arange(300) // 10)
    assert result.similarity_within == pytest.approx(np.sqrt(2 / (np.pi * 200)), rel=0.05)
    assert result.similarity_between == pytest.approx(np.sqrt(2 / (np.pi * 200)), rel=0.01)


@pytest.mark.parametrize("scale", [50.0, 3.0, 0.2], ids=["nearly isotropic", "anisotropic", "one direction"])
def test_the_null_is_what_independent_gaussian_vectors_of_the_true_covariance_give(scale):
    """With as few windows as 64, and several per document, where the sample covariance alone gives 0.1 too much."""
    rng = np.random.default_rng(3)
    deviations = np.exp(-np.arange(300) / (scale * 4))
    truth = of(rng.standard_normal((800, 300)) * deviations, np.arange(800)).similarity_between
    document = np.arange(64) // 2
    nulls = []
    for _ in range(30):
        effects, windows = rng.standard_normal((32, 300)), rng.standard_normal((64, 300))
        nulls.append(similarity_null((effects[document] + windows) * deviations, document))
    assert np.mean(nulls) == pytest.approx(truth, rel=0.08)
    assert np.std(nulls) < 0.15 * truth


def test_context_vectors_without_clusters_have_the_similarity_of_their_null():
    rng = np.random.default_rng(4)
    deviations = np.exp(-np.arange(200) / 10)
    document = np.arange(64) // 4
    found = []
    for _ in range(40):
        vectors = rng.standard_normal((64, 200)) * deviations
        result = of(vectors, document)
        found.append([result.similarity_within, result.similarity_between, similarity_null(vectors, document)])
    (within, between, null), error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    # Shrinkage towards a flat spectrum where the true one falls: 3 % are granted to the null.
    assert within == pytest.approx(null, abs=4 * error[0] + 0.03 * null)
    assert between == pytest.approx(null, abs=4 * error[1] + 0.03 * null)


def test_one_group_says_nothing_about_chance():
    vectors = np.random.default_rng(5).standard_normal((6, 4))
    assert np.isnan(similarity_null(vectors, np.zeros(6, dtype=int)))


def test_the_blocks_are_the_corners_of_one_table_of_cosines():
    rng = np.random.default_rng(3)
    position, context = rng.standard_normal((6, 5)), rng.standard_normal((4, 5))
    blocks = block_gram(position, context)
    everything = np.concatenate([position, context])
    table = np.array([[cosine(a, b) for b in everything] for a in everything])
    whole = np.block(
        [[blocks.position_position, blocks.position_context], [blocks.position_context.T, blocks.context_context]]
    )
    np.testing.assert_allclose(whole, table, atol=1e-14)

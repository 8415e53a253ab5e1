from itertools import combinations

import numpy as np
import pytest

from armillary.measures import similarity as module
from armillary.measures.similarity import block_gram, similarity


def cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))


@pytest.fixture
def contexts():
    rng = np.random.default_rng(0)
    document = rng.integers(0, 4, size=25)
    return rng.standard_normal((4, 12))[document] + rng.standard_normal((25, 12)), document


def test_similarity_is_the_mean_absolute_cosine_over_pairs_of_different_contexts(contexts):
    vectors, document = contexts
    pairs = [(document[i] == document[j], abs(cosine(vectors[i], vectors[j]))) for i, j in combinations(range(25), 2)]
    result = similarity(vectors, document)
    assert result.similarity_within == pytest.approx(np.mean([value for same, value in pairs if same]))
    assert result.similarity_between == pytest.approx(np.mean([value for same, value in pairs if not same]))


def test_the_published_within_counts_every_context_with_itself(contexts):
    vectors, document = contexts
    table = [[abs(cosine(a, b)) for b in vectors] for a in vectors]
    expected = np.mean(np.array(table)[document[:, None] == document])
    assert similarity(vectors, document).similarity_within_published == pytest.approx(expected)


def test_blocks_of_any_size_give_the_same_similarity(contexts, monkeypatch):
    whole = similarity(*contexts)
    monkeypatch.setattr(module, "ROWS", 4)
    np.testing.assert_allclose(similarity(*contexts), whole, rtol=1e-13)


def test_without_a_pair_similarity_is_not_determined():
    vectors = np.random.default_rng(1).standard_normal((5, 3))
    alone = similarity(vectors, np.arange(5))
    assert np.isnan(alone.similarity_within)
    assert alone.similarity_within_published == pytest.approx(1)
    assert np.isnan(similarity(vectors, np.zeros(5, dtype=int)).similarity_between)


def test_a_zero_context_vector_has_no_cosine():
    vectors = np.eye(4)
    vectors[0] = 0
    assert np.isnan(similarity(vectors, np.array([0, 0, 1, 1])).similarity_within)


def test_random_directions_have_the_similarity_of_chance():
    vectors = np.random.default_rng(2).standard_normal((300, 200)).astype(np.float32)
    result = similarity(vectors, np.arange(300) // 10)
    assert result.similarity_within == pytest.approx(np.sqrt(2 / (np.pi * 200)), rel=0.05)
    assert result.similarity_between == pytest.approx(np.sqrt(2 / (np.pi * 200)), rel=0.01)


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

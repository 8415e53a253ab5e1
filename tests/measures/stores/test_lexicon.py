"""Tokens nearest to directions against a full sort; ties, signs, planes and zero vectors."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from armillary.measures.stores.lexicon import both_ends, lexicon, one_end, plane_reading, unit_rows


def vocabulary(tokens=500, d_model=16, seed=0):
    return np.random.default_rng(seed).standard_normal((tokens, d_model)).astype(np.float32)


def directions(count=7, d_model=16, seed=1):
    drawn = np.random.default_rng(seed).standard_normal((count, d_model))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def test_both_ends_are_those_of_a_full_sort_by_cosine():
    words = lexicon(vocabulary())
    found = both_ends(directions(), words, 5)
    cosines = directions() @ words.vectors.astype(np.float64).T
    order = np.argsort(-cosines, axis=1)
    assert np.array_equal(found.token[:, 0], order[:, :5])
    assert np.array_equal(found.token[:, 1], order[:, :-6:-1])
    assert found.score[:, 0] == pytest.approx(np.take_along_axis(cosines, order[:, :5], 1))
    assert found.score[:, 1] == pytest.approx(np.take_along_axis(cosines, order[:, :-6:-1], 1))
    assert np.array_equal(one_end(directions(), words, 5).token, order[:, :5])


def test_a_flipped_direction_has_the_same_tokens_at_the_other_end():
    words = lexicon(vocabulary())
    found, flipped = both_ends(directions(), words, 5), both_ends(-directions(), words, 5)
    assert np.array_equal(found.token, flipped.token[:, ::-1])
    assert np.array_equal(found.score, -flipped.score[:, ::-1])


def test_equal_tokens_stand_in_the_order_of_their_ids():
    vectors = vocabulary(300)
    vectors[[7, 40, 41, 200, 299, 120, 3]] = vectors[7]
    words = lexicon(vectors)
    found = both_ends(words.vectors[[7]].astype(np.float64), words, 5)
    assert found.token[0, 0].tolist() == [3, 7, 40, 41, 120]


@pytest.mark.parametrize("tokens", [5, 79, 80, 81, 4000])
def test_vocabularies_of_any_size_are_read(tokens):
    words = lexicon(vocabulary(tokens))
    found = one_end(directions(300), words, 5)
    expected = np.argsort(-(directions(300) @ words.vectors.astype(np.float64).T), axis=1)[:, :5]
    assert np.array_equal(found.token, expected)


def test_the_number_of_threads_changes_no_token_and_no_score():
    words = lexicon(vocabulary(3000, 64))
    with threadpool_limits(1):
        one = both_ends(directions(40, 64), words, 5)
    with threadpool_limits(2):
        two = both_ends(directions(40, 64), words, 5)
    assert np.array_equal(one.token, two.token)
    assert np.array_equal(one.score, two.score)


def test_a_plane_reads_the_same_however_its_directions_are_rotated():
    words = lexicon(vocabulary(2000, 24))
    plane = np.linalg.qr(np.random.default_rng(3).standard_normal((24, 3)))[0].T
    found = plane_reading(plane, words, 5)
    for seed in range(5):
        rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]
        turned = plane_reading(rotation @ plane, words, 5)
        assert np.array_equal(turned.token, found.token)
        assert turned.score == pytest.approx(found.score, abs=1e-12)
    lengths = np.linalg.norm(words.vectors.astype(np.float64) @ plane.T, axis=1)
    assert found.token.tolist() == np.argsort(-lengths)[:5].tolist()


def test_a_plane_of_one_direction_is_read_by_the_absolute_cosine():
    words = lexicon(vocabulary())
    direction = directions(1)
    lengths = np.abs(direction[0] @ words.vectors.astype(np.float64).T)
    assert plane_reading(direction, words, 5).score == pytest.approx(np.sort(lengths)[:-6:-1])


def test_rows_have_norm_1_and_zero_stays_zero():
    vectors = vocabulary(20) + 3
    vectors[4] = 0
    rows = unit_rows(vectors, True)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.where(np.arange(20) == 4, 0, 1), abs=1e-6)
    assert rows.sum(axis=1) == pytest.approx(0, abs=1e-5)
    words = lexicon(vectors)
    assert words.mean == pytest.approx(words.vectors.mean(0), abs=1e-6)
    assert words.second == pytest.approx(words.vectors.T @ words.vectors / 20, abs=1e-6)

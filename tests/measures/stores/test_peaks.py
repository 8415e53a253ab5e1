"""Peaks and coherence against their definitions, and that random directions stay within their null."""

import numpy as np
import pytest

from armillary.measures.stores.lexicon import both_ends, lexicon
from armillary.measures.stores.peaks import clarity, clarity_nulls, coherence, plane_clarity, subspace_directions, unit


def words_of(tokens=2000, d_model=32, seed=0, shift=0.0):
    return lexicon(np.random.default_rng(seed).standard_normal((tokens, d_model)).astype(np.float32) + shift)


def drawn(count, d_model=32, seed=1):
    return unit(np.random.default_rng(seed).standard_normal((count, d_model)))


def test_a_peak_is_the_top_tokens_distance_in_standard_deviations_of_the_vocabulary():
    words = words_of(shift=0.5)
    cosines = drawn(9) @ words.vectors.astype(np.float64).T
    expected = np.abs(cosines - cosines.mean(1, keepdims=True)).max(1) / cosines.std(1)
    assert clarity(drawn(9), words, 5).peak == pytest.approx(expected, rel=1e-4)


def test_coherence_is_the_mean_cosine_between_different_tokens_of_the_better_end():
    words = words_of()
    token = both_ends(drawn(4), words, 5).token
    for direction in range(4):
        ends = [words.vectors[token[direction, end]].astype(np.float64) for end in (0, 1)]
        means = [(each @ each.T)[np.triu_indices(5, 1)].mean() for each in ends]
        assert coherence(token, words)[direction] == pytest.approx(max(means), abs=1e-6)


def test_random_directions_exceed_the_99_percent_point_in_1_percent_of_cases():
    words = words_of()
    nulls = clarity_nulls(words, 1, 5, seed=0, draws=1000)
    for values, null in zip(clarity(drawn(2000, seed=5), words, 5), nulls, strict=True):
        assert 0.003 < np.mean(values > null.point) < 0.03
        assert abs(null.z(values).mean()) < 0.15
        assert null.z(values).std() == pytest.approx(1, abs=0.15)


def test_a_direction_towards_a_cluster_of_tokens_is_clear_and_what_all_tokens_share_is_not():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((2000, 32)).astype(np.float32)
    shared, topic = np.eye(32, dtype=np.float32)[:2]
    vectors += 4 * shared
    vectors[:6] += 12 * topic
    words = lexicon(vectors)
    peak, similar = clarity(np.stack([shared, topic]).astype(np.float64), words, 5)
    null_peak, null_similar = clarity_nulls(words, 1, 5, seed=0, draws=1000)
    assert null_peak.z(peak)[1] > 5 > null_peak.z(peak)[0]
    assert null_similar.z(similar)[1] > 5


def test_planes_are_measured_against_random_planes():
    words = words_of()
    null = clarity_nulls(words, 2, 5, seed=0, draws=1000)
    assert null[0].mean != clarity_nulls(words, 1, 5, seed=0, draws=1000)[0].mean
    frames = [np.linalg.qr(np.random.default_rng(seed).standard_normal((32, 2)))[0].T for seed in range(200)]
    peaks = np.array([plane_clarity(frame, words, 5) for frame in frames])
    assert abs(null[0].z(peaks[:, 0]).mean()) < 0.3
    rotated = np.array([[0.6, 0.8], [-0.8, 0.6]]) @ frames[0]
    assert plane_clarity(rotated, words, 5) == pytest.approx(tuple(peaks[0]), abs=1e-5)


def test_nulls_follow_from_the_seed():
    words = words_of()
    assert clarity_nulls(words, 1, 5, seed=3, draws=50) == clarity_nulls(words, 1, 5, seed=3, draws=50)
    assert clarity_nulls(words, 1, 5, seed=3, draws=50) != clarity_nulls(words, 1, 5, seed=4, draws=50)


def test_directions_of_a_subspace_lie_in_it_whatever_basis_it_has():
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((20, 4)))[0]
    rotated = basis @ np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))[0]
    found, same = (subspace_directions(each, np.random.default_rng(2), 6) for each in (basis, rotated))
    assert found == pytest.approx(same, abs=1e-12)
    assert found @ basis @ basis.T == pytest.approx(found, abs=1e-12)
    assert not subspace_directions(np.zeros((20, 0)), np.random.default_rng(2), 3).any()

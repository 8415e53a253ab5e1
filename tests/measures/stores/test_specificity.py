"""Words matched with what was found for them: the closed form against permutations, and lists that are too short."""

import numpy as np
import pytest

from armillary.measures.stores.specificity import (
    fit_of,
    matching,
    random_matching,
    random_scores,
    scores_of,
    top_others,
    without_self,
)


def test_mean_and_variance_are_those_over_permutations():
    rng = np.random.default_rng(0)
    fit = rng.standard_normal((12, 12)) + 2 * rng.standard_normal(12) + 3 * rng.standard_normal((12, 1))
    found = matching(fit)
    shuffled = np.array([np.mean(fit[np.arange(12), rng.permutation(12)]) for _ in range(20_000)])
    assert found.null == pytest.approx(shuffled.mean(), abs=0.01)
    assert found.z == pytest.approx((np.trace(fit) / 12 - shuffled.mean()) / shuffled.std(), rel=0.03, abs=0.02)


def test_what_fits_every_word_is_not_specific():
    columns = np.tile(np.random.default_rng(0).standard_normal(15), (15, 1))
    assert np.isnan(matching(columns).z)
    assert matching(columns + np.eye(15)).z > 10


def test_few_words_have_no_z_score():
    assert np.isnan(matching(np.eye(9)).z)
    assert matching(np.eye(9)).fit == 1
    assert np.isfinite(matching(np.eye(10)).z)


def test_top_others_leave_out_the_word_itself():
    scores = np.array([[9.0, 1, 2, 2], [5, 9, 4, 3], [1, 1, 0, 1], [0, 1, 2, 3]])
    assert top_others(scores, 2).tolist() == [[2, 3], [0, 2], [-1, -1], [2, 1]], "equal scores are no ranking"
    assert top_others(scores, 5)[1].tolist() == [0, 2, 3, -1, -1]
    assert top_others(np.eye(1), 2).tolist() == [[-1, -1]]
    assert scores_of(scores, top_others(scores, 5))[1] == pytest.approx([5, 4, 3, np.nan, np.nan], nan_ok=True)


def test_the_fit_is_the_mean_similarity_of_what_was_chosen():
    similarity = without_self(np.array([[1.0, 0.5, 0.1], [0.5, 1, 0.2], [0.1, 0.2, 1]]))
    assert np.diag(similarity) == pytest.approx([0.3, 0.35, 0.15])
    found = fit_of(similarity, np.array([[1, 2], [0, -1], [-1, -1]]))
    assert found[0] == pytest.approx((similarity[1] + similarity[2]) / 2)
    assert found[1] == pytest.approx(similarity[0])
    assert np.isnan(found[2]).all()


def clustered(words=60, d_model=24, seed=0):
    rng = np.random.default_rng(seed)
    vectors = np.repeat(rng.standard_normal((6, d_model)), words // 6, axis=0) + 0.4 * rng.standard_normal(
        (words, d_model)
    )
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_random_heads_of_clustered_words_have_standard_z_scores_once_calibrated():
    vectors, rng = clustered(), np.random.default_rng(1)
    similarity = without_self(vectors @ vectors.T)
    value = np.linspace(3, 0.1, 8)
    mean, sd = random_matching(vectors, vectors, value[None], similarity[None], 5, 300, np.random.default_rng(0))[0]
    assert sd > 1.2, "permutations alone are too narrow a null for clustered words"
    own = [
        matching(fit_of(similarity, top_others(random_scores(vectors, vectors, value, rng), 5))).z for _ in range(400)
    ]
    calibrated = (np.array(own) - mean) / sd
    assert calibrated.mean() == pytest.approx(0, abs=0.2)
    assert calibrated.std() == pytest.approx(1, abs=0.12)


def test_random_heads_without_draws_or_weights_give_no_null():
    vectors = clustered()
    similarity = without_self(vectors @ vectors.T)[None]
    for value, draws in ((np.ones((1, 3)), 0), (np.zeros((1, 3)), 5)):
        assert np.isnan(random_matching(vectors, vectors, value, similarity, 5, draws, np.random.default_rng(0))).all()

"""Random stacks of attention: similarity against cosines by hand, and what skips, norms and large scores do to it."""

import numpy as np
import pytest

from armillary.measures.gaussian.stacks import attention_layer, stack_similarity, token_cosine
from armillary.measures.similarity import unit_vectors

RNG = np.random.default_rng(0)


def test_the_mean_cosine_is_that_of_all_pairs():
    tokens = RNG.standard_normal((7, 5))
    unit = unit_vectors(tokens)
    cosines = (unit @ unit.T)[~np.eye(7, dtype=bool)]
    assert token_cosine(tokens) == pytest.approx(cosines.mean())


def test_a_layer_with_equal_scores_gives_every_token_the_mean_value():
    tokens, value = RNG.standard_normal((4, 3)), RNG.standard_normal((3, 3))
    found = attention_layer(tokens, np.stack([np.zeros((3, 3)), np.zeros((3, 3)), value]))
    np.testing.assert_allclose(found, np.tile((tokens @ value).mean(0), (4, 1)))
    kept = attention_layer(tokens, np.stack([value] * 3), skip=0.0)
    np.testing.assert_allclose(kept, tokens)
    lengths = np.linalg.norm(attention_layer(tokens, np.stack([value] * 3), 0.5, norm=True), axis=1)
    np.testing.assert_allclose(lengths, np.sqrt(3))


def test_without_a_skip_tokens_become_one_vector_and_a_skip_slows_that_down():
    bare = stack_similarity(depth=3, stacks=4)
    skipped = stack_similarity(depth=8, skip=0.5, stacks=4)
    weak = stack_similarity(depth=8, skip=0.1, stacks=4)
    normed = stack_similarity(depth=8, skip=0.5, length=8.0, norm=True, stacks=4)
    assert abs(bare.similarity[0]) < 0.02
    assert bare.similarity[2] > 0.99
    assert weak.similarity[8] < 0.1 < skipped.similarity[4] < 0.7 < skipped.similarity[8]
    assert normed.similarity[8] > 0.5
    assert (skipped.similarity_se[1:] > 0).all()


def test_large_aligned_scores_keep_tokens_apart():
    tokens = 8 * unit_vectors(RNG.standard_normal((32, 64)))
    for _ in range(4):
        tokens = attention_layer(tokens, np.stack([2 * np.eye(64)] * 3))
        tokens = 8 * unit_vectors(tokens)
    assert abs(token_cosine(tokens)) < 0.1

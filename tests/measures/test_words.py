"""Attention between words against sums written out; rows keep adding up to 1, the published form does not."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from armillary.measures.words import word_attention


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 1000))
def test_words_sum_over_keys_and_average_over_queries(lengths, seed):
    index = np.repeat(np.arange(len(lengths)), lengths)
    pattern = np.random.default_rng(seed).dirichlet(np.ones(len(index)), len(index))
    words = word_attention(pattern, index)
    for query, key in np.ndindex(*words.shape):
        block = pattern[index == query][:, index == key]
        assert np.isclose(words[query, key], block.sum(1).mean())
        assert np.isclose(word_attention(pattern, index, published=True)[query, key], block.sum())
    assert np.allclose(words.sum(1), 1)
    assert np.allclose(word_attention(pattern, index, published=True).sum(1), lengths)

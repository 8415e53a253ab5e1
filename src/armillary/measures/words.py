"""Attention between words, from attention between the tokens that make them."""

import numpy as np
from jaxtyping import Float, Int


def word_attention(
    pattern: Float[np.ndarray, "query key"], word_index: Int[np.ndarray, "position"]
) -> Float[np.ndarray, "word word_"]:
    """Sum over the key's tokens, mean over the query's: rows keep adding up to 1.

    word_index says for each position which word it belongs to, 0..W−1, none of them empty.
    """
    member = _members(word_index)
    return (member @ pattern @ member.T) / member.sum(1, keepdims=True)


def word_attention_published(
    pattern: Float[np.ndarray, "query key"], word_index: Int[np.ndarray, "position"]
) -> Float[np.ndarray, "word word_"]:
    """Sum over the tokens of both words, as in Wertich, section 8.2: a row adds up to its word's number of tokens."""
    member = _members(word_index)
    return member @ pattern @ member.T


def _members(word_index: Int[np.ndarray, "position"]) -> Float[np.ndarray, "word position"]:
    return (word_index == np.arange(word_index.max() + 1)[:, None]).astype(np.float64)

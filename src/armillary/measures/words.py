"""Attention between words, from attention between the tokens that make them."""

import numpy as np
from jaxtyping import Float, Int


def word_attention(
    pattern: Float[np.ndarray, "query key"], word_index: Int[np.ndarray, "position"], *, published: bool = False
) -> Float[np.ndarray, "word word_"]:
    """Sum over the key's tokens, mean over the query's: rows keep adding up to 1.

    word_index says for each position which word it belongs to, 0..W−1, none of them empty. `published` sums over the
    tokens of both words (Wertich, section 8.2): a row then adds up to its word's number of tokens.
    """
    member = (word_index == np.arange(word_index.max() + 1)[:, None]).astype(np.float64)
    summed = member @ pattern @ member.T
    return summed if published else summed / member.sum(1, keepdims=True)

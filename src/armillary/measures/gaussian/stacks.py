"""The uniform embedding mixture: random attention layers, one after the other, and how similar they make the tokens.

After Wertich, section 7.2.3: X ← β · attention(X) + (1 − β) X with random W_Q, W_K, W_V. Without a skip (β = 1) tokens
become one vector within few layers; a skip or large scores that make each token see itself alone hold that up.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from armillary.measures.anisotropy import mean_cosines
from armillary.measures.localization.softmax import softmax

Tokens = Float[np.ndarray, "token d_model"]


class StackSimilarity(NamedTuple):
    """Mean cosine of two tokens before the first layer and after each, with its standard error over random stacks."""

    similarity: Float[np.ndarray, " depth"]
    similarity_se: Float[np.ndarray, " depth"]


def token_cosine(tokens: Tokens) -> float:
    """Mean cosine of two different tokens; NaN where one has no direction."""
    return float(mean_cosines(tokens, np.ones((1, len(tokens)), dtype=bool), np.zeros((1, tokens.shape[1])))[0])


def attention_layer(
    tokens: Tokens, weights: Float[np.ndarray, "3 d_model d_model_"], skip: float = 1.0, *, norm: bool = False
) -> Tokens:
    """β softmax(QKᵀ/√d) V + (1 − β) X of one head; with `norm` every token is then set to length √d.

    `weights` are W_Q, W_K and W_V, acting from the right of row vectors.
    """
    width = tokens.shape[1]
    query, key, value = (tokens @ weight for weight in weights)
    mixed = skip * (softmax(query @ key.T / np.sqrt(width)) @ value) + (1 - skip) * tokens
    return np.sqrt(width) * mixed / np.linalg.norm(mixed, axis=1, keepdims=True) if norm else np.asarray(mixed)


def stack_similarity(
    *,
    tokens: int = 32,
    width: int = 64,
    depth: int = 16,
    length: float = 1.0,
    skip: float = 1.0,
    norm: bool = False,
    stacks: int = 10,
    seed: int = 0,
) -> StackSimilarity:
    """Token similarity through random stacks: weights of variance 1/d, tokens of this length in random directions.

    `skip` is β, 1 for attention alone. The error is over stacks, each with tokens and weights of its own.
    """
    rng = np.random.default_rng(seed)
    found = np.empty((stacks, depth + 1))
    for stack in found:
        states = rng.standard_normal((tokens, width))
        states *= length / np.linalg.norm(states, axis=1, keepdims=True)
        stack[0] = token_cosine(states)
        for layer in range(depth):
            weights = rng.standard_normal((3, width, width)) / np.sqrt(width)
            states = attention_layer(states, weights, skip, norm=norm)
            stack[layer + 1] = token_cosine(states)
    return StackSimilarity(found.mean(0), found.std(0, ddof=1) / np.sqrt(stacks))

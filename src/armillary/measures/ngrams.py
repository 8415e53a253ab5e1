"""How predictable a text is from one token to the next: what a model that knows no more must reach."""

import numpy as np
from jaxtyping import Int


def bigram_entropy(tokens: Int[np.ndarray, " token"]) -> float:
    """Entropy of a token given the one before it, in nats: H(pairs) − H(tokens), plug-in.

    A model that knows only how often each token follows each other one has this loss on this very text. It is biased
    downwards by about (pairs seen − tokens seen)/2n: of no account for letters, not for a large vocabulary.
    """
    if len(tokens) < 2:
        return float("nan")
    _, compact = np.unique(tokens, return_inverse=True)
    pairs = compact[:-1].astype(np.int64) * (int(compact.max()) + 1) + compact[1:]
    return entropy_of(pairs) - entropy_of(compact[:-1])


def entropy_of(labels: Int[np.ndarray, " token"]) -> float:
    """Entropy of how often each label occurs, in nats, plug-in."""
    counts = np.unique(labels, return_counts=True)[1]
    share = counts / counts.sum()
    return float(-np.sum(share * np.log(share)))

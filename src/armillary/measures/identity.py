"""How much of the residual a token's identity explains, less mean, position and context."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from armillary.measures.errors.leave_out import count_of, jackknifed, leave_out, unknown
from armillary.measures.massive import counted

SHUFFLES = 19  # the highest of 19 is passed by chance once in twenty times


class TokenShare(NamedTuple):
    """Share of the residual variance between tokens, with its error, what chance reaches, and how many tokens."""

    token_share: float
    token_share_se: float
    token_share_without: Float[np.ndarray, "group"]
    token_share_null: float
    token_count: int


class Pairs(NamedTuple):
    """All pairs of occurrences of one token, and which token each occurrence is, counted from 0."""

    first: Int[np.ndarray, " pair"]
    second: Int[np.ndarray, " pair"]
    identity: Int[np.ndarray, " occurrence"]


def token_share(
    states: Float[np.ndarray, "sample d_model"],
    mean: Float[np.ndarray, "d_model"],
    position_basis: Float[np.ndarray, "position d_model"],
    context_basis: Float[np.ndarray, "context d_model"],
    residual_position: Int[np.ndarray, "position"],
    position: Int[np.ndarray, "sample"],
    context: Int[np.ndarray, "sample"],
    token: Int[np.ndarray, "sample"],
    group: Int[np.ndarray, "context"],
    massive: Bool[np.ndarray, "sample"],
    holes: int,
) -> TokenShare:
    """ε² = 1 − MS_within/MS_total of a one-way analysis of variance of the sampled residuals by token, all of d_model.

    residual = state − mean − position vector − context vector; only tokens that occur at least twice enter. The mean
    squares have N − K and N − 1 degrees of freedom for N occurrences of K tokens (Kelley 1935): 0 on average when
    identity means nothing, and then as often negative. Error: jackknife over the groups of the tokens' windows. The
    null is the highest share of 19 shuffles of the identities (their mean is 0 by construction): chance passes it once
    in twenty times. NaN where no token occurs twice, or every occurrence is of the same token.
    """
    entering = repeated(token, counted(massive, holes))
    rows = np.searchsorted(residual_position, position[entering])
    residuals = states[entering] - mean.astype(states.dtype)
    residuals -= position_basis.astype(states.dtype)[rows]
    residuals -= context_basis.astype(states.dtype)[context[entering]]
    identity = np.unique(token[entering], return_inverse=True)[1]
    if len(identity) == 0 or identity.max() == 0:
        return TokenShare(*unknown(count_of(group)), float("nan"), len(np.unique(identity)))
    gram = residuals @ residuals.T
    pairs = same_token_pairs(identity)
    shares = shares_of(gram, pairs, leave_out(group[context[entering]], count_of(group)))
    return TokenShare(*jackknifed(shares), float(shuffled_shares(gram, pairs).max()), int(identity.max()) + 1)


def repeated(token: Int[np.ndarray, " sample"], counts: Bool[np.ndarray, " sample"]) -> Int[np.ndarray, " occurrence"]:
    """The samples that count and whose token occurs at least twice among those that do."""
    places = np.flatnonzero(counts)
    _, identity, sizes = np.unique(token[places], return_inverse=True, return_counts=True)
    return places[sizes[identity] > 1]


def same_token_pairs(identity: Int[np.ndarray, " occurrence"]) -> Pairs:
    """Every pair of two different occurrences of one token, once."""
    first, second = np.nonzero(np.triu(identity[:, None] == identity, 1))
    return Pairs(first, second, identity)


def shares_of(
    gram: Float[np.ndarray, "occurrence occurrence_"], pairs: Pairs, kept: Bool[np.ndarray, "set occurrence"]
) -> Float[np.ndarray, " set"]:
    """ε² of the occurrences that each set keeps, from their inner products; a token left with one occurrence goes too.

    Σ_k ‖Σ_{i∈k} r_i‖²/n_k is a sum over single occurrences and over pairs of one token, so no set needs sums of its
    own in d_model dimensions.
    """
    member = np.eye(int(pairs.identity.max()) + 1)[pairs.identity]
    sizes = (kept @ member)[:, pairs.identity] * kept
    kept = sizes > 1
    weights = kept / np.maximum(sizes, 1)
    squares = np.diagonal(gram).astype(np.float64)
    total = kept @ squares
    together = kept[:, pairs.first] & kept[:, pairs.second]
    products = 2 * gram[pairs.first, pairs.second].astype(np.float64)
    means = weights @ squares + (together * weights[:, pairs.first]) @ products
    grand = np.einsum("so,so->s", kept.astype(gram.dtype) @ gram, kept, dtype=np.float64)
    count, tokens = kept.sum(axis=1), weights.sum(axis=1).round()
    return _epsilon(total - grand / np.maximum(count, 1), total - means, count, tokens)


def shuffled_shares(
    gram: Float[np.ndarray, "occurrence occurrence_"], pairs: Pairs, seed: int = 0
) -> Float[np.ndarray, " shuffle"]:
    """ε² under the permutation null: the identities shuffled 19 times."""
    count = len(gram)
    rng = np.random.default_rng(seed)
    orders = np.array([rng.permutation(count) for _ in range(SHUFFLES)])
    weights = 1 / np.bincount(pairs.identity)[pairs.identity]
    squares = np.diagonal(gram).astype(np.float64)
    products = gram[orders[:, pairs.first], orders[:, pairs.second]].astype(np.float64)
    means = squares[orders] @ weights + 2 * products @ weights[pairs.first]
    total, grand = squares.sum(), gram.sum(dtype=np.float64)
    tokens = np.full(SHUFFLES, pairs.identity.max() + 1)
    return _epsilon(np.full(SHUFFLES, total - grand / count), total - means, np.full(SHUFFLES, count), tokens)


def _epsilon(
    total: Float[np.ndarray, " set"],
    within: Float[np.ndarray, " set"],
    count: Int[np.ndarray, " set"],
    tokens: np.ndarray,
) -> Float[np.ndarray, " set"]:
    defined = (tokens > 1) & (total > 0)
    scale = np.where(defined, total * (count - tokens), np.nan)
    return 1 - within * (count - 1) / scale

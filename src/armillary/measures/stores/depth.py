"""What the document claims of early and late blocks, as numbers: the share of readable triplets, a trend over depth."""

from itertools import permutations
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats

from armillary.measures.errors.shares import share_interval

Verdict = Literal["holds", "does not hold", "not determined"]

LEVEL = 0.05
FEW = 0.05
"""A block is unreadable where fewer of its triplets than this are certain to be readable; 1 % are by chance."""

CHANCE = 0.01
SHUFFLES = 10_000
EXACT = 8
"""Up to as many blocks every order of them is tried."""


class Share(NamedTuple):
    """A share with its 95 % interval (Clopper–Pearson, cases taken as independent), and the verdict on it."""

    verdict: Verdict
    share: float
    low: float
    high: float


class Trend(NamedTuple):
    """Spearman's correlation with depth, its two-sided permutation p-value, the first and last value; the verdict."""

    verdict: Verdict
    correlation: float
    p: float
    first: float
    last: float


class Heads(NamedTuple):
    """How many heads of how many are significant, all jointly, the largest z-score among them; the verdict on any."""

    verdict: Verdict
    significant: int
    heads: int
    largest: float


def specific_heads(z: Float[np.ndarray, " head"]) -> Heads:
    """Whether a block has subject-specific heads: one-sided z-scores, at 5 % for all heads jointly (Bonferroni)."""
    known = z[np.isfinite(z)]
    if not known.size:
        return Heads("not determined", 0, 0, float("nan"))
    count = int(np.sum(known > stats.norm.isf(LEVEL / len(known))))
    return Heads("holds" if count else "does not hold", count, len(known), float(known.max()))


def legible(readable: Bool[np.ndarray, " case"]) -> Share:
    """Whether a block is readable: the opposite verdict of `unreadable`, from the same numbers."""
    found = unreadable(readable)
    opposite: dict[Verdict, Verdict] = {"holds": "does not hold", "does not hold": "holds"}
    return found._replace(verdict=opposite.get(found.verdict, found.verdict))


def unreadable(readable: Bool[np.ndarray, " case"]) -> Share:
    """Whether a block is unreadable: hardly more of its readings exceed the null's 99 % point than 1 %.

    It holds where the interval lies below 5 %, and does not where it lies above.
    """
    count, found = len(readable), int(readable.sum())
    if not count:
        return Share("not determined", *[float("nan")] * 3)
    low, high = share_interval(found, count, 1 - LEVEL)
    verdict: Verdict = "holds" if high < FEW else "does not hold" if low > FEW else "not determined"
    return Share(verdict, found / count, low, high)


def rising(values: Float[np.ndarray, " block"], seed: int = 0) -> Trend:
    """Whether values rise with depth: significant at 5 %, two-sided, over permuted blocks."""
    known = values[np.isfinite(values)]
    ends = (float(known[0]), float(known[-1])) if known.size else (float("nan"), float("nan"))
    if len(known) < 4 or np.ptp(known) == 0:
        return Trend("not determined", float("nan"), float("nan"), *ends)
    ranks = stats.rankdata(known) - (len(known) + 1) / 2
    depth = np.arange(len(known)) - (len(known) - 1) / 2
    observed = float(ranks @ depth / np.sqrt(ranks @ ranks * (depth @ depth)))
    orders = shuffled(ranks, seed)
    p = float(np.mean(np.abs(orders @ depth) >= abs(ranks @ depth) - 1e-9))
    verdict: Verdict = "not determined" if p >= LEVEL else "holds" if observed > 0 else "does not hold"
    return Trend(verdict, observed, p, *ends)


def shuffled(ranks: Float[np.ndarray, " block"], seed: int) -> Float[np.ndarray, "shuffle block"]:
    """Every order of the ranks where blocks are few; else random ones, with the given order among them."""
    if len(ranks) <= EXACT:
        return np.array(list(permutations(ranks)))
    rng = np.random.default_rng(seed)
    return np.vstack([ranks, rng.permuted(np.tile(ranks, (SHUFFLES - 1, 1)), axis=1)])

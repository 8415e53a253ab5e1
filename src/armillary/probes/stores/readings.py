"""Tokens of one block's triplets, how clear they are, and how clear random directions would be."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from armillary.measures.stores.lexicon import DIGITS, ENDS, Lexicon, both_ends, plane_reading
from armillary.measures.stores.peaks import (
    Null,
    clarity,
    clarity_nulls,
    coherence,
    peaks,
    plane_clarity,
    subspace_directions,
)
from armillary.probes.stores.weights import Store
from armillary.results.schema.stores import SIDE_NAMES

TOP, DRAWS, WITHIN = 5, 1000, 4
"""Tokens read at each end of a direction; random directions of the null, and within each head's subspaces."""

MEASURES = ("peak", "coherence")


@dataclass
class Nulls:
    """Peak and coherence of random directions and planes, drawn once for every dimension that is met."""

    words: Lexicon
    seed: int
    known: dict[int, tuple[Null, Null]] = field(default_factory=dict)

    def of(self, dimension: int) -> tuple[Null, Null]:
        """The nulls of directions (1) or planes."""
        if dimension not in self.known:
            self.known[dimension] = clarity_nulls(self.words, dimension, TOP, self.seed, DRAWS)
        return self.known[dimension]


@dataclass
class Readings:
    """Tokens of one block's triplets, [head, side, triplet, end, rank], and their clarity; filled side by side.

    `clear` holds, for peak and coherence, the value, the null's 99 % point and the z-score: [measure, of, head, ...].
    """

    token: Int[np.ndarray, "head side triplet end rank"]
    score: Float[np.ndarray, "head side triplet end rank"]
    clear: Float[np.ndarray, "measure of head side triplet"]

    @classmethod
    def empty(cls, heads: int, count: int) -> "Readings":
        """No token anywhere."""
        shape = (heads, len(SIDE_NAMES), count)
        ranked = (*shape, len(ENDS), TOP)
        return cls(np.full(ranked, -1), np.full(ranked, np.nan), np.full((len(MEASURES), 3, *shape), np.nan))

    def read(self, side: int, stores: list[Store], nulls: Nulls) -> None:
        """Read one side of all heads: directions with one product of matrices, planes one by one."""
        single = []
        count = self.token.shape[2]
        for head, store in enumerate(stores):
            bounds = store.planes[side // 2][:count]
            single += [(head, place) for place, (start, end) in enumerate(bounds) if end - start == 1]
            for start, end in sorted({(int(start), int(end)) for start, end in bounds if end - start > 1}):
                plane = store.vectors(side)[:, start:end].T
                at = (head, side, slice(start, min(end, count)))
                found = plane_reading(plane, nulls.words, TOP)
                self.token[at][:, 0], self.score[at][:, 0] = found.token, found.score
                self.note(at, plane_clarity(plane, nulls.words, TOP), nulls.of(end - start))
        if single:
            heads, places = np.array(single).T
            directions = np.array([stores[head].vectors(side)[:, place] for head, place in single])
            ranking = both_ends(directions, nulls.words, TOP)
            self.token[heads, side, places], self.score[heads, side, places] = ranking
            peak = peaks(directions, ranking.score[:, 0, 0], ranking.score[:, 1, 0], nulls.words)
            self.note((heads, side, places), (peak, coherence(ranking.token, nulls.words)), nulls.of(1))

    def note(self, at: tuple[object, ...], values: Iterable[float | np.ndarray], nulls: tuple[Null, Null]) -> None:
        """Value, 99 % point of the null and z-score of both measures."""
        for measured, value, null in zip(self.clear, values, nulls, strict=True):
            for held, number in zip(measured, (value, null.point, null.z(value)), strict=True):
                held[at] = number

    def set_signs(self) -> None:
        """Choose the signs of triplets: the token nearest to the right vector's line is at its positive end."""
        for left, right in ((0, 1), (2, 3)):
            high, low = (np.round(sign * self.score[:, right, :, end, 0], DIGITS) for end, sign in ((0, 1), (1, -1)))
            first, last = self.token[:, right, :, 0, 0], self.token[:, right, :, 1, 0]
            for head, place in zip(*np.nonzero((low > high) | ((low == high) & (last < first))), strict=True):
                for side in (left, right):
                    self.token[head, side, place] = self.token[head, side, place, ::-1].copy()
                    self.score[head, side, place] = -self.score[head, side, place, ::-1]

    def variables(self) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
        """By name, with their axes."""
        per_triplet = ("head", "side", "triplet")
        ranked = (*per_triplet, "end", "rank")
        return {name: (ranked, getattr(self, name)) for name in ("token", "score")} | {
            f"{name}{ending}": (per_triplet, values)
            for name, measured in zip(MEASURES, self.clear, strict=True)
            for ending, values in zip(("", "_null", "_z"), measured, strict=True)
        }


def within_subspace(
    side: int, stores: list[Store], nulls: Nulls, seeds: list[int]
) -> Float[np.ndarray, "measure head"]:
    """The mean z-scores of random directions within what each head reads or writes; NaN where that is nothing."""
    rng = np.random.default_rng([*seeds, side])
    drawn = [subspace_directions(store.vectors(side), rng, WITHIN) for store in stores]
    found = clarity(np.concatenate(drawn), nulls.words, TOP)
    scores = [null.z(each).reshape(-1, WITHIN).mean(axis=1) for each, null in zip(found, nulls.of(1), strict=True)]
    known = [store.ranks[side // 2] > 0 for store in stores]
    return np.where(known, np.array(scores), np.nan)

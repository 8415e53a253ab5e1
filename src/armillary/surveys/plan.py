"""What a pass will do, decided before it starts: which windows in which order, in which shards, with which draws."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from jaxtyping import Int

SHARD_TOKENS = 4096
BATCH_TOKENS = 512
PILOT_TOKENS = 1024
SAMPLE = 512
RANKED = 8


@dataclass(frozen=True)
class Plan:
    """The windows in the order of the pass, and everything random about it.

    Windows are sorted by group, so that a shard touches few groups and its sums stay small. Shards are fixed by the
    window length and `shard_tokens`: batches and workers may change, the shards and the order of their merging do not.
    """

    tokens: Int[np.ndarray, "context position"]
    groups: Int[np.ndarray, " context"]
    seed: int
    first: str
    outliers: str
    scatter: str
    sites: str
    batch: int
    heads: bool = False
    shard_tokens: int | None = None

    @property
    def skipped(self) -> int:
        """How many positions at the start of each window are set apart."""
        return 1 if self.first == "drop" else 0

    @cached_property
    def positions(self) -> Int[np.ndarray, " position"]:
        """The positions that are kept."""
        return np.arange(self.skipped, self.tokens.shape[1])

    @cached_property
    def shards(self) -> tuple[range, ...]:
        """Consecutive windows, about `shard_tokens` tokens each: whole groups, or a piece of one twice as large.

        A group that two shards share is summed twice until they merge, so none is cut without need; and a shard may
        be an eighth larger, for every further one brings matrices of its own.
        """
        size = shard_windows(self.tokens.shape[1], self.shard_tokens)
        shards: list[range] = []
        for start, stop in pairwise([0, *(np.flatnonzero(np.diff(self.groups)) + 1), len(self.groups)]):
            if shards and stop - shards[-1].start <= size + size // 8:
                shards[-1] = range(shards[-1].start, int(stop))
            else:
                pieces = np.linspace(start, stop, max(1, (stop - start) // size) + 1).round()
                shards += [range(int(a), int(b)) for a, b in pairwise(pieces)]
        return tuple(shards)

    @property
    def pilot(self) -> int:
        """How many of the first shard's windows give the medians of the outlier rule."""
        return min(len(self.shards[0]), max(1, PILOT_TOKENS // self.tokens.shape[1]))

    @cached_property
    def shifts(self) -> Int[np.ndarray, " context"]:
        """By how many positions the null shifts each window, circularly."""
        return np.random.default_rng([self.seed, 1]).integers(len(self.positions), size=len(self.tokens))

    @cached_property
    def sample(self) -> frozenset[tuple[int, int]]:
        """The (window, position) pairs whose states are kept in all layers."""
        contexts, kept = len(self.tokens), len(self.positions)
        drawn = np.random.default_rng([self.seed, 2]).choice(
            contexts * kept, min(SAMPLE, contexts * kept), replace=False
        )
        return frozenset((int(i) // kept, int(i) % kept + self.skipped) for i in drawn)

    @cached_property
    def ranked(self) -> frozenset[int]:
        """The windows whose attention maps are taken apart into singular values: evenly spread, so over groups too.

        One in eight, for spectra are costly, but two at least, and no more than `RANKED`.
        """
        contexts = len(self.tokens)
        count = min(RANKED, contexts, max(2, contexts // 8))
        return frozenset(np.linspace(0, contexts - 1, count).round().astype(int).tolist())

    def batches(self, shard: range) -> tuple[range, ...]:
        """A shard in batches; towards the end of the pass they get smaller, so that all cores end together."""
        found: list[range] = []
        start = shard.start
        while start < shard.stop:
            left = len(self.tokens) - start
            size = min(self.batch, -(-left // 2), shard.stop - start)
            found.append(range(start, start + size))
            start += size
        return tuple(found)

    def first_windows(self, count: int) -> "Plan":
        """The plan of the first windows alone, as they would be had no others been asked for but for the sample."""
        return replace(self, tokens=self.tokens[:count], groups=self.groups[:count])

    def fingerprint(self, model: str) -> str:
        """What must agree for a pass to be resumed: the model, every token, every setting that changes a bit."""
        digest = hashlib.sha256(model.encode())
        for part in (self.tokens, self.groups):
            digest.update(np.ascontiguousarray(part, np.int64).tobytes())
        settings = (self.tokens.shape, self.seed, self.first, self.outliers, self.scatter, self.sites, self.batch)
        digest.update(repr((*settings, self.shards, PILOT_TOKENS, SAMPLE)).encode())
        if self.heads:
            digest.update(b"heads")
        return digest.hexdigest()


def shard_windows(length: int, tokens: int | None) -> int:
    """How many windows a shard has, give or take."""
    return max(1, (tokens or SHARD_TOKENS) // length)


def batch_size(length: int, batch: int | None) -> int:
    """How many windows run at once."""
    return batch if batch is not None else max(1, BATCH_TOKENS // length)

"""What the maps of one attention call add up to, per window and head, from a single walk over blocks of queries."""

from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor

from armillary.attention.patterns import Rows, block_size, home, rows
from armillary.models.attention import AttentionCall

BINS = 16
"""Into how many bins of position a map is averaged, at most one per position."""

SCALARS = (
    *("entropy", "entropy_relative", "mass_first", "mass_self", "mass_previous", "distance", "signal_propagation"),
    "sink_rate",
)
"""What is one number per head, in the order in which it is kept."""

SINK = 0.3
"""Mean attention on position 0 from which on a window counts as one with an attention sink (Gu and others 2024)."""


@dataclass(frozen=True)
class PatternSums:
    """One call's maps in numbers, means over the queries of each window. Query 0 counts in `map` alone.

    `scalars` are those of SCALARS; `profile` is the mass by binned distance; `signal` the signal propagation by binned
    key, NaN where the last query sees none of the bin's keys.
    """

    scalars: Float[Tensor, "context head scalar"]
    profile: Float[Tensor, "context head span"]
    map: Float[Tensor, "context head query_bin key_bin"]
    signal: Float[Tensor, "context head key_bin"]


def pattern_sums(call: AttentionCall) -> PatternSums:
    """All statistics of a call's maps; float32 within a block of queries, float64 beyond."""
    batch, heads, length, _ = call.query.shape
    bins, at = min(BINS, length), home(call.query)
    wide = torch.promote_types(call.query.dtype, torch.float32)
    buffer = Skewed(batch * heads, block_size(call), length, call.query.new_zeros(0, dtype=wide))
    diagonals = torch.zeros(batch * heads, 2 * length - 1, dtype=torch.float64, device=at)
    binned = torch.zeros(batch * heads, bins, length, dtype=torch.float64, device=at)
    found, signal = [], None
    for part in rows(call):
        if part.queries.stop == length:
            signal = signals(part)
        columns, inverse = row_sums(part, buffer)
        found.append(columns)
        there = range(part.queries.start * bins // length, (part.queries.stop - 1) * bins // length + 1)
        sums = buffer.sums(part, inverse, kinds(length, there, part.queries, inverse))
        binned[:, there.start : there.stop, part.keys] += sums.to(at, torch.float64)
        start = part.keys.start - part.queries.stop + length
        more = buffer.diagonals(part, inverse).to(at, torch.float64)
        diagonals[:, start : start + more.shape[-1]] += more
    assert signal is not None
    per_query = torch.cat(found, 2).to(at, torch.float64)
    binned, diagonals = (table.unflatten(0, (batch, heads)) for table in (binned, diagonals))
    return reduced(per_query, binned, diagonals, signal.to(at, torch.float64))


class Skewed:
    """Memory for exp(logits) of one block after the other, in which a step along a diagonal is a step along a column.

    Every row is followed by as many zeros as there are queries, less one: read with a stride one longer than a row, row
    r begins r places further right, and keys at the same distance from their queries stand under each other.
    """

    def __init__(self, maps: int, queries: int, keys: int, like: Tensor) -> None:
        self.flat = like.new_zeros(queries - 1 + maps * queries * (keys + queries - 1))
        self.maps = maps

    def weights(self, part: Rows) -> Float[Tensor, "map query key"]:
        """Where exp(logits) of a block belongs."""
        _, _, queries, keys = part.logits.shape
        wide = keys + queries - 1
        used = self.flat[queries - 1 : queries - 1 + self.maps * queries * wide]
        return used.view(self.maps, queries, wide)[..., :keys]

    def written(self, part: Rows) -> Float[Tensor, "map query key"]:
        """exp(logits) of a block; what lay there before is gone, the places between rows are zero."""
        _, _, queries, keys = part.logits.shape
        weights = self.weights(part)
        weights.as_strided((self.maps, queries, queries - 1), weights.stride(), queries - 1 + keys).zero_()
        self.flat[: queries - 1] = 0
        return torch.exp(part.logits.view(weights.shape), out=weights)

    def sums(
        self, part: Rows, inverse: Float[Tensor, "map query"], kinds: Float[Tensor, "query kind"]
    ) -> Float[Tensor, "map kind key"]:
        """Attention on each key, added up over the queries of each kind."""
        return (inverse[:, None] * kinds.T).bmm(self.weights(part))

    def diagonals(self, part: Rows, inverse: Float[Tensor, "map query"]) -> Float[Tensor, "map offset"]:
        """Attention at each offset key − query, the lowest first, added up over queries; query 0 left out."""
        _, _, queries, keys = part.logits.shape
        wide = keys + queries - 1
        skewed = self.flat.as_strided((self.maps, queries, wide), (queries * wide, wide + 1, 1))
        if part.queries.start == 0:
            inverse = inverse.clone()
            inverse[:, 0] = 0
        return inverse[:, None].bmm(skewed)[:, 0]


def row_sums(part: Rows, buffer: Skewed) -> tuple[Float[Tensor, "batch head query column"], Float[Tensor, "map query"]]:
    """For each query entropy, entropy over its maximum and mass on key 0; and by what its weights are to be multiplied.

    Leaves exp(logits) in the buffer; consumes the logits.
    """
    batch, heads, queries, _ = part.logits.shape
    weights = buffer.written(part)
    products = part.logits.view(weights.shape).mul_(weights).sum(-1)
    over_keys = weights.sum(-1)
    # With a sink the masses add up to less than 1; the entropy is that of the attention that falls on tokens.
    entropy = over_keys.log() - products / over_keys
    inverse = 1 / (over_keys + part.absent.flatten(0, 1))
    first = weights[..., 0] * inverse if part.keys.start == 0 else torch.zeros_like(inverse)
    visible = part.allowed.sum(-1).expand(batch, heads, queries).flatten(0, 1)
    relative = torch.where(visible > 1, entropy / visible.clamp_min(2).log(), torch.nan)
    return torch.stack([entropy, relative, first], -1).unflatten(0, (batch, heads)), inverse


def signals(part: Rows) -> Float[Tensor, "batch head key"]:
    """Whether 0 ≤ 1/T + (ω − mean ω)/T ≤ 1 at each key of the last query, T keys; NaN at keys that it does not see.

    ω are the scores before the softmax. A whole window's keys are given, also those outside the block's.
    """
    allowed = part.allowed[..., -1, :].expand_as(part.logits[..., -1, :])
    scores = part.logits[..., -1, :].masked_fill(~allowed, 0)
    count = allowed.sum(-1, keepdim=True)
    step = scores - scores.sum(-1, keepdim=True) / count
    holds = ((step >= -1) & (step <= count - 1)).to(scores.dtype).masked_fill(~allowed, torch.nan)
    return torch.nn.functional.pad(holds, (part.keys.start, part.queries.stop - part.keys.stop), value=torch.nan)


def reduced(
    per_query: Float[Tensor, "context head query column"],
    binned: Float[Tensor, "context head query_bin key"],
    diagonals: Float[Tensor, "context head offset"],
    signal: Float[Tensor, "context head key"],
) -> PatternSums:
    """Means over queries, and offsets gathered into distances."""
    length, count = per_query.shape[2], per_query.shape[2] - 1
    at = diagonals.device
    distance = torch.arange(1 - length, length, device=at).abs()
    mean = per_query[:, :, 1:]
    scalars = [mean[..., 0].mean(-1), mean[..., 1].nanmean(-1), mean[..., 2].mean(-1)]
    scalars += [diagonals[..., length - 1] / count, diagonals[..., length - 2] / count]
    scalars += [diagonals @ distance.double() / count, signal.nanmean(-1), (scalars[2] > SINK).double()]
    spans = spans_of(length)
    profile = diagonals.new_zeros(*diagonals.shape[:2], spans[-1] + 1)
    profile.index_add_(2, torch.tensor(spans).to(at)[distance], diagonals / count)
    bins = min(BINS, length)
    edges = [-(-bin * length // bins) for bin in range(bins + 1)]
    rule = kinds(length, range(bins), slice(0, length), diagonals)
    return PatternSums(
        scalars=torch.stack(scalars, -1),
        profile=profile,
        map=binned @ rule / rule.sum(0)[:, None],
        signal=torch.stack([signal[..., start:stop].nanmean(-1) for start, stop in pairwise(edges)], -1),
    )


def position_bins(length: int) -> Int[Tensor, " position"]:
    """The bin of each position of a window: as many equal bins as BINS, or one per position in a short window."""
    return torch.arange(length) * min(BINS, length) // length


def kinds(length: int, bins: range, queries: slice, like: Tensor) -> Float[Tensor, "query kind"]:
    """One where a query lies in a bin, for some of the bins; no device is asked for a number."""
    of_query = torch.arange(queries.start, queries.stop, device=like.device) * min(BINS, length) // length
    return (of_query[:, None] == torch.arange(bins.start, bins.stop, device=like.device)).to(like.dtype)


def spans_of(length: int) -> list[int]:
    """The bin of each distance 0..length − 1: 0, 1, 2, 3–4, 5–8, 9–16, ..."""
    return [0 if distance == 0 else (distance - 1).bit_length() + 1 for distance in range(length)]


def span_of(length: int) -> Int[Tensor, " distance"]:
    """The same as a tensor."""
    return torch.tensor(spans_of(length))

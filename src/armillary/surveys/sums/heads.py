"""What attention heads do, summed by group of documents: a frozen record that merges."""

from dataclasses import dataclass, fields

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.attention.reading import HeadStatistics
from armillary.surveys.sums.batch import by_group


@dataclass(frozen=True)
class Heads:
    """For each group: the number of windows, and the sum over windows of every statistic, in float64.

    A window's value is a mean over its queries, so that every window counts alike. `ranked` counts the windows of the
    sample whose maps were taken apart, `ranks` sums their effective and stable ranks and spectral gaps.
    """

    windows: dict[int, int]
    scalars: dict[int, Float[Tensor, "block head scalar"]]
    profile: dict[int, Float[Tensor, "block head span"]]
    map: dict[int, Float[Tensor, "block head query_bin key_bin"]]
    signal: dict[int, Float[Tensor, "block head key_bin"]]
    mixing: dict[int, Float[Tensor, "block measure"]]
    ranked: dict[int, int]
    ranks: dict[int, Float[Tensor, "block head three"]]

    @classmethod
    def of(cls, batch: HeadStatistics, groups: tuple[int, ...]) -> "Heads":
        """The sums of one batch, whose windows belong to `groups`."""
        rows: dict[int, list[int]] = {}
        for row, group in enumerate(groups):
            rows.setdefault(group, []).append(row)
        sampled = {group: [i for i, row in enumerate(batch.ranked) if row in rows[group]] for group in rows}
        sampled = {group: own for group, own in sampled.items() if own}
        return cls(
            windows={group: len(own) for group, own in rows.items()},
            scalars=group_sums(batch.scalars, rows),
            profile=group_sums(batch.profile, rows),
            map=group_sums(batch.map, rows),
            signal=group_sums(batch.signal, rows),
            mixing=group_sums(batch.mixing, rows),
            ranked={group: len(own) for group, own in sampled.items()},
            ranks=group_sums(batch.ranks, sampled),
        )

    def merge(self, other: "Heads") -> "Heads":
        """The sums of both."""
        names = (field.name for field in fields(self))
        return Heads(**{name: by_group(getattr(self, name), getattr(other, name)) for name in names})


def group_sums(values: Float[Tensor, "context *shape"], rows: dict[int, list[int]]) -> dict[int, Tensor]:
    """The sum over each group's rows."""
    picked = {group: torch.stack([values[row] for row in own]) for group, own in sorted(rows.items())}
    return {group: own.sum(0, dtype=torch.float64) for group, own in picked.items()}

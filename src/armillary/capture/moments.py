"""Second moments that merge (Chan, Golub and LeVeque): about the mean of each part, never about zero."""

from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.capture.batch import Batch, lasting

BLOCKS = 4
"""The scatter matrix is symmetric: the lower triangle of 4 × 4 blocks costs five eighths of the whole product."""


@dataclass(frozen=True)
class Spread:
    """For each group: number of tokens, mean, and the sum of squared distances from that mean, at every site."""

    counts: dict[int, int]
    means: dict[int, Float[Tensor, "site d_model"]]
    squares: dict[int, Float[Tensor, " site"]]

    @classmethod
    def of(cls, batch: Batch) -> "Spread":
        """The spread of one batch; in float64, where a large mean costs no digits."""
        norms = batch.norms.masked_fill(~batch.kept, 0)
        whole = cls({}, {}, {})
        for group, run in batch.runs():
            count = int(batch.kept[run].sum())
            if count:
                mean = batch.totals[:, run].sum(1) / count
                squares = norms[:, run].square().sum((1, 2)) - count * mean.square().sum(-1)
                whole = whole.merge(cls({group: count}, {group: mean}, {group: squares}))
        return whole

    def merge(self, other: "Spread") -> "Spread":
        """Both parts, each group about its common mean."""
        counts, means, squares = dict(self.counts), dict(self.means), dict(self.squares)
        for group, more in other.counts.items():
            if group not in counts:
                counts[group], means[group], squares[group] = more, other.means[group], other.squares[group]
                continue
            mine, total = counts[group], counts[group] + more
            step = other.means[group] - means[group]
            squares[group] = squares[group] + other.squares[group] + (mine * more / total) * step.square().sum(-1)
            means[group] = means[group] + step * (more / total)
            counts[group] = total
        return Spread(counts, means, squares)


@dataclass(frozen=True)
class Scatter:
    """Number of tokens, mean, and Σ (x − mean)(x − mean)ᵀ over all groups; only the lower blocks are filled."""

    count: int
    mean: Float[Tensor, "site d_model"]
    matrix: Float[Tensor, "site d_model d_model_"]

    @classmethod
    def of(cls, batch: Batch) -> "Scatter":
        """The scatter of one batch."""
        sites, width = len(batch.states), batch.states[0].shape[-1]
        zeros = torch.zeros(sites, width, dtype=torch.float64)
        return cls(0, zeros, lasting(sites, width, width)).extended(batch)

    def extended(self, batch: Batch) -> "Scatter":
        """This scatter and a batch's, merged in place: the matrices are large, and this record is given up.

        Products are formed in the states' own precision about the batch's mean; they are summed in float64.
        """
        count, everywhere = int(batch.kept.sum()), bool(batch.kept.all())
        total = max(self.count + count, 1)
        means = batch.totals.sum(1) / max(count, 1)
        step = means - self.mean
        # The centre is rounded to the states' precision; what that leaves is the square of a rounding error.
        rows = torch.empty(len(batch.states), *batch.states[0].shape, dtype=batch.states[0].dtype)
        for into, states, mean in zip(rows, batch.masked, means, strict=True):
            torch.sub(states, mean.to(states.dtype), out=into)
        if not everywhere:
            rows.masked_fill_(~batch.kept[:, :, None], 0)
        add_lower_products(rows.flatten(1, 2), self.matrix)
        if self.count:
            for matrix, offset in zip(self.matrix, step, strict=True):
                matrix.addr_(offset, offset, alpha=self.count * count / total)
        return Scatter(self.count + count, self.mean + step * (count / total), self.matrix)

    def merge(self, other: "Scatter") -> "Scatter":
        """Both parts, about their common mean."""
        return Scatter(self.count, self.mean, self.matrix.clone()).absorbed(other)

    def absorbed(self, other: "Scatter") -> "Scatter":
        """Both parts, in place; a new tensor object says that something changed."""
        total = max(self.count + other.count, 1)
        step = other.mean - self.mean
        self.matrix.add_(other.matrix)
        self.matrix.baddbmm_((self.count * other.count / total * step)[:, :, None], step[:, None, :])
        return Scatter(self.count + other.count, self.mean + step * (other.count / total), self.matrix.detach())


def add_lower_products(rows: Float[Tensor, "site token d_model"], into: Float[Tensor, "site d_model d_model_"]) -> None:
    """Add rowsᵀ rows of every site into the lower blocks of its matrix; one product of all sites keeps cores busy."""
    width = rows.shape[-1]
    edges = [round(width * block / BLOCKS) for block in range(BLOCKS + 1)]
    for start, end in pairwise(edges):
        into[:, start:end, :end] += torch.bmm(rows[:, :, start:end].mT, rows[:, :, :end])


def symmetric(matrix: Float[Tensor, "*site d_model d_model_"]) -> Float[Tensor, "*site d_model d_model_"]:
    """The whole matrix from its lower triangle."""
    lower = matrix.tril()
    return lower + lower.tril(-1).mT

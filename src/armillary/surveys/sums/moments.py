"""Second moments that merge (Chan, Golub and LeVeque): about the mean of each part, never about zero."""

from dataclasses import dataclass
from threading import local

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from armillary.surveys.sums.batch import HOST, Batch, Large, at_least_one, in_memory, lasting, number
from armillary.surveys.sums.shelf import Kept
from armillary.system.threads import side_by_side


@dataclass(frozen=True)
class Spread:
    """For each group: number of tokens, mean, and the sum of squared distances from that mean, at every site."""

    counts: dict[int, int | Tensor]
    means: dict[int, Float[Tensor, "site d_model"]]
    squares: dict[int, Float[Tensor, " site"]]

    @classmethod
    def of(cls, batch: Batch) -> "Spread":
        """The spread of one batch; in float64, where a large mean costs no digits."""
        norms = batch.norms.masked_fill(~batch.kept, 0)
        spread = cls({}, {}, {})
        for group, run in batch.runs():
            count = number(batch.kept[run])
            if isinstance(count, Tensor) or count:
                mean = batch.totals[:, run].sum(1) / at_least_one(count)
                squares = norms[:, run].square().sum((1, 2)) - count * mean.square().sum(-1)
                spread = spread.merge(cls({group: count}, {group: mean}, {group: squares}))
        return spread

    def add(self, batch: Batch) -> "Spread":
        """This spread and a batch's."""
        return self.merge(Spread.of(batch))

    def merge(self, other: "Spread") -> "Spread":
        """Both parts, each group about its common mean."""
        counts, means, squares = dict(self.counts), dict(self.means), dict(self.squares)
        for group, more in other.counts.items():
            if group not in counts:
                counts[group], means[group], squares[group] = more, other.means[group], other.squares[group]
                continue
            mine = counts[group]
            total = at_least_one(mine + more)
            step = other.means[group] - means[group]
            squares[group] = squares[group] + other.squares[group] + (mine * more / total) * step.square().sum(-1)
            means[group] = means[group] + step * (more / total)
            counts[group] = mine + more
        return Spread(counts, means, squares)


@dataclass(frozen=True)
class Scatter:
    """Number of tokens, mean, and Σ (x − mean)(x − mean)ᵀ over all groups."""

    count: int | Tensor
    mean: Float[Tensor, "site d_model"]
    matrix: Float[Tensor, "site d_model d_model_"] | Kept

    @classmethod
    def of(cls, batch: Batch) -> "Scatter":
        """The scatter of one batch."""
        sites, width = len(batch.states), batch.states[0].shape[-1]
        zeros = torch.zeros(sites, width, dtype=torch.float64, device=batch.at)
        return cls(0, zeros, lasting(sites, width, width, at=batch.at)).add(batch)

    def add(self, batch: Batch) -> "Scatter":
        """This scatter and a batch's, in place: the matrices are large, and this record is given up.

        Products are formed in the states' own precision about the batch's mean; they are summed in float64.
        """
        count = number(batch.kept)
        total = at_least_one(self.count + count)
        means = batch.totals.sum(1) / at_least_one(count)
        step = means - self.mean
        if batch.at != HOST:
            matrix = in_memory(self.matrix)
            add_there(matrix, batch, means, step * (self.count * count / total) ** 0.5)
            return Scatter(self.count + count, self.mean + step * (count / total), matrix.detach())
        kept, centres, offsets, matrix = batch.kept.numpy(), means.numpy(), step.numpy(), in_memory(self.matrix)
        into = matrix.numpy()
        left_out = None if kept.all() else ~kept.ravel()

        threads = torch.get_num_threads()

        def add(first: int) -> None:
            rows, product = ROOM.of(kept.size + 1, into.shape[-1], batch.states[0].numpy().dtype)
            for site in range(first, len(into), threads):
                states = batch.states[site].numpy()
                # The centre is rounded to the states' precision; what that leaves is the square of a rounding error.
                np.subtract(states, centres[site].astype(rows.dtype), out=rows[:-1].reshape(states.shape))
                if left_out is not None:
                    rows[:-1][left_out] = 0
                # The step between the two means joins the product as one more row.
                rows[-1] = np.sqrt(self.count * count / total) * offsets[site]
                into[site] += np.matmul(rows.T, rows, out=product)

        side_by_side(add, range(threads), threads)
        return Scatter(self.count + count, self.mean + step * (count / total), matrix.detach())

    def merge(self, other: "Scatter") -> "Scatter":
        """Both parts about their common mean, in place: both records are given up."""
        total = at_least_one(self.count + other.count)
        step = other.mean - self.mean
        left, right = (self.count * other.count / total * step)[:, :, None], step[:, None, :]
        matrix: Large
        if isinstance(self.matrix, Kept):

            def join(mine: Tensor, more: Tensor, site: int) -> None:
                mine.add_(more)[None].baddbmm_(left[site : site + 1], right[site : site + 1])

            matrix = self.matrix.plus(in_memory(other.matrix), join)
        else:
            matrix = self.matrix.add_(in_memory(other.matrix)).baddbmm_(left, right).detach()
        return Scatter(self.count + other.count, self.mean + step * (other.count / total), matrix)


class Room(local):
    """Each thread's room for the rows and the product of one site: memory that comes and goes costs more than sums."""

    def __init__(self) -> None:
        self.rows, self.product = np.empty((0, 0)), np.empty((0, 0))

    def of(self, tokens: int, width: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """Room for this number of rows, and for their product."""
        if self.product.shape != (width, width) or self.product.dtype != dtype or len(self.rows) < tokens:
            self.rows, self.product = np.empty((tokens, width), dtype), np.empty((width, width), dtype)
        return self.rows[:tokens], self.product


ROOM = Room()


def add_there(
    matrix: Float[Tensor, "site d_model d_model_"],
    batch: Batch,
    centres: Float[Tensor, "site d_model"],
    steps: Float[Tensor, "site d_model"],
) -> None:
    """Add a batch's products where its states are, as the host does: about the batch's mean, a step as one more row."""
    left_out = ~batch.kept.flatten()[:, None]
    for into, states, centre, step in zip(matrix, batch.states, centres, steps, strict=True):
        rows = (states - centre.to(states.dtype)).flatten(0, 1).masked_fill_(left_out, 0)
        rows = torch.cat([rows, step.to(rows.dtype)[None]])
        into += rows.T @ rows

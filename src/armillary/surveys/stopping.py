"""When a survey has read enough: no layer's position share has a larger standard error than was asked for."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float

from armillary.measures.position import share_of
from armillary.surveys.plan import Plan
from armillary.surveys.sums.state import State, Stream
from armillary.surveys.tables import Sums, Table, fill_site, fills, holes_of, kernel, squares
from armillary.system.texts import numbered

Enough = Callable[[State | None, int], bool]
"""Whether the state after this number of shards is enough; an engine asks between shards."""

FEWEST_WINDOWS = 64
"""Before this many windows, and before every group of documents has one, nothing is asked."""

GROWTH = 1.1
"""The error is looked at again when there are this many times as many windows: looking costs time, and luck adds up."""


def never(state: State | None, shards: int) -> bool:
    """Every shard is read."""
    return False


class Until:
    """Stops a pass at a wanted standard error."""

    def __init__(self, plan: Plan, wanted: float) -> None:
        self.plan, self.wanted = plan, wanted

    @cached_property
    def moments(self) -> frozenset[int]:
        """After how many shards the error is looked at: fixed by the plan, so that a resumed pass stops there too."""
        found, last = [], 0.0
        everybody = len(set(self.plan.groups.tolist()))
        for number, shard in enumerate(self.plan.shards, 1):
            seen = set(self.plan.groups[: shard.stop].tolist())
            if shard.stop >= max(FEWEST_WINDOWS, GROWTH * last) and len(seen) == everybody:
                found.append(number)
                last = shard.stop
        return frozenset(found)

    def __call__(self, state: State | None, shards: int) -> bool:
        """Whether the largest error over layers is small enough."""
        if state is None or shards not in self.moments:
            return False
        return self.error_of(state, self.plan.shards[shards - 1].stop) <= self.wanted

    def error_of(self, state: State, windows: int) -> float:
        """The largest error over layers after a number of windows."""
        return float(position_errors(state, self.plan.first_windows(windows)).max())

    def account(self, state: State) -> tuple[int, str]:
        """How many windows were read, and why no more, for the run and whoever waits for it."""
        read = sum(map(len, state.residual.contexts.order.values()))
        error, asked = self.error_of(state, read), numbered(len(self.plan.tokens), "window")
        end = f"stopped after {read} of {asked}" if read < len(self.plan.tokens) else f"read all {asked}"
        if not np.isfinite(error):
            return read, f"{end}: too few groups of documents for an SE of the position share"
        if error <= self.wanted:
            return read, f"{end}: no layer's position share has an SE above {error:.2g} (--until-se {self.wanted:g})"
        return read, (
            f"{end}: a layer's position share has an SE of {error:.2g} (--until-se {self.wanted:g}); about "
            f"{windows_for(self.wanted, error, read)} windows would do"
        )


def windows_for(wanted: float, error: float, windows: int) -> int:
    """How many windows a standard error needs, if it falls with the root of their number, as for independent ones."""
    return int(np.ceil(windows * (error / wanted) ** 2))


@torch.inference_mode()
def position_errors(state: State, plan: Plan) -> Float[np.ndarray, " layer"]:
    """The standard error of each layer's bias-corrected position share, as a table shows it; nothing is given up.

    `plan` has the windows of the state and no others.
    """
    stream, holes = state.residual, holes_of(state, plan)
    sums = Sums(stream, holes, holes.shifted(plan), folded=False)
    rows, length = window_sums(stream), len(plan.positions)
    filled = Table(rows, np.empty((len(rows), rows.shape[2])), fills(rows, sums.cells(), holes, length))
    kernels = []
    for site in range(len(rows)):
        columns, groups = sums.at(site)
        fill_site(filled, columns, groups, holes, site)
        kernels.append(kernel(groups))
    sizes, energies = np.bincount(plan.groups).astype(np.float64), squares(stream, filled, holes, len(sums.groups))
    shares = [share_of(each, sizes, energy, length) for each, energy in zip(kernels, energies, strict=True)]
    return np.array([share.share_corrected_se for share in shares])


def window_sums(stream: Stream) -> Float[np.ndarray, "site context d_model"]:
    """A copy of the sums over each window, in the order of the windows."""
    chunks, order = stream.contexts.sums, stream.contexts.order
    sites, _, width = next(iter(chunks.values())).shape
    rows = torch.empty(sites, sum(map(len, order.values())), width, dtype=torch.float64)
    for start, chunk in chunks.items():
        rows[:, list(order[start])] = chunk
    return rows.numpy()

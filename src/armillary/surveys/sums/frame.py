"""The few directions along which states vary most, from the first windows: a frame for what is kept by group."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

DIRECTIONS = 16
"""How many leading directions are kept."""

STEPS = 4
"""Power iterations: the pilot's own directions need not be exact, only hold nearly all of the leading one."""


@dataclass(frozen=True)
class Frame:
    """The directions along which the pilot's states vary most in each layer, orthonormal, and the states' mean."""

    centre: Float[Tensor, "site d_model"]
    directions: Float[Tensor, "site d_model direction"]

    @cached_property
    def offsets(self) -> Float[Tensor, "site direction"]:
        """The centre's own coordinates, to be taken off those of a state."""
        return torch.einsum("sd,sdk->sk", self.centre, self.directions.double()).to(self.directions.dtype)


def frame(states: list[Float[Tensor, "token d_model"]]) -> Frame:
    """The leading directions of a few states in each layer, by power iteration from a fixed start."""
    width = states[0].shape[1]
    start = torch.randn(width, min(DIRECTIONS, width), generator=torch.Generator().manual_seed(0))
    centres, found = [], []
    for layer in states:
        centre = layer.mean(0, dtype=torch.float64)
        rows, directions = (layer - centre.to(layer.dtype)).float(), start
        for _ in range(STEPS):
            directions = torch.linalg.qr(rows.T @ (rows @ directions)).Q
        centres.append(centre)
        found.append(directions)
    return Frame(torch.stack(centres), torch.stack(found))

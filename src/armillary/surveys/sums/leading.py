"""Second moments along the few directions where states vary most, by group: what the largest variance's error needs."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.surveys.sums.batch import Batch, by_group


@dataclass(frozen=True)
class Leading:
    """For each group, Σ y yᵀ at every site, y the coordinates of a state less the centre in the frame."""

    products: dict[int, Float[Tensor, "site direction direction_"]]

    @classmethod
    def of(cls, batch: Batch) -> "Leading":
        """The products of one batch."""
        if batch.frame is None:
            raise AssertionError("expected a frame, got none: the pilot gives it before the first sum")
        along, offsets = batch.frame.directions, batch.frame.offsets
        coordinates = along.new_empty(len(along), *batch.kept.shape, along.shape[-1])
        for into, states, directions, offset in zip(coordinates, batch.states, along, offsets, strict=True):
            torch.matmul(states.to(along.dtype), directions, out=into).sub_(offset)
        coordinates = coordinates.masked_fill_(~batch.kept[..., None], 0).double()
        found: dict[int, Tensor] = {}
        for group, run in batch.runs():
            rows = coordinates[:, run].flatten(1, 2)
            found = by_group(found, {group: rows.mT @ rows})
        return cls(found)

    def add(self, batch: Batch) -> "Leading":
        """These products and a batch's."""
        return self.merge(Leading.of(batch))

    def merge(self, other: "Leading") -> "Leading":
        """The products of both."""
        return Leading(by_group(self.products, other.products))

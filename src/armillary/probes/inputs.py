"""What a run knows of an attention's inputs, and an input split by it: mean, position, residual."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float, Int

from armillary.errors import RequestError
from armillary.models.view import View
from armillary.probes.reloading import refuse_another
from armillary.results.store import Run


@dataclass(frozen=True)
class Known:
    """What a run knows of one attention's inputs: their mean, and the mean at each position less the mean.

    `measured` are the positions that the run kept; position 0 may be set `apart`, and is then known by its own mean.
    """

    mean: Float[np.ndarray, "d_model"]
    position: Float[np.ndarray, "position d_model"]
    measured: Int[np.ndarray, "measured"]
    apart: bool


def known_parts(view: View, run: Run, block: int, length: int) -> Known:
    """The mean and positional basis of a block's attention inputs up to `length`; refuses what does not fit the run."""
    view.heads(block)
    inputs = attention_inputs(view, run)
    positions = inputs.position.values.astype(np.int64)
    longest = int(positions[-1]) + 1
    if length > longest:
        raise RequestError(
            f"expected at most {longest} tokens, the length of the run's windows, got {length}: "
            "shorten the text or survey with a larger --length"
        )
    of_block = inputs.isel(block=block)
    mean = of_block["mean"].values.astype(np.float64)
    position = np.zeros((longest, len(mean)))
    position[positions] = of_block.position_basis.values
    if positions[0] > 0:
        position[0] = of_block["first"].values - mean
    return Known(mean, position[:length], positions[positions < length], bool(positions[0] > 0))


def known_without(
    known: Known, x: Float[np.ndarray, "position d_model"], contexts: int, counted: Bool[np.ndarray, "position"]
) -> Known:
    """What the run would know without one of its windows, whose inputs are x: only then are they independent of it.

    Every mean at a position is one over `contexts` windows, so a window's part is taken off exactly; positions that the
    window did not count at, for its token was left out, stay as they are.
    """
    means = known.mean + known.position
    means = np.where(counted[:, None], (contexts * means - x) / (contexts - 1), means)
    mean = means[known.measured].mean(0)
    return replace(known, mean=mean, position=means - mean)


def all_known(view: View, run: Run, length: int) -> list[Known]:
    """What the run knows of every block."""
    return [known_parts(view, run, block, length) for block in range(view.n_blocks)]


def attention_inputs(view: View, run: Run) -> xr.Dataset:
    """The run's group of attention inputs, if it is a run of this very model."""
    refuse_another(run, view)
    if "attention" not in run.results.children:
        raise RequestError("expected a run with attention inputs, got one without: survey with --sites all")
    return run.results["attention"].to_dataset()


def input_parts(
    x: Float[torch.Tensor, "position d_model"], known: Known
) -> Float[torch.Tensor, "part position d_model"]:
    """Mean, position and residual of an attention's input, in float64; they add up to x."""
    wide = x.double()
    mean = torch.from_numpy(known.mean).to(x.device).expand_as(wide)
    position = torch.from_numpy(known.position[: len(x)]).to(x.device)
    return torch.stack([mean, position, wide - mean - position])

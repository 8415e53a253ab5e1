"""The states of one prompt by the parts that a run knows: position as the run found it, context, and the rest."""

from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int

from armillary.figures.planes import first_positions
from armillary.figures.reading import has, numbers
from armillary.settings import MASSIVE_TIMES


class Split(NamedTuple):
    """Shares of position, context and rest in each layer, and the tokens that were counted."""

    share: Float[np.ndarray, "layer component"]
    counted: Int[np.ndarray, "token"]


def layer_split(
    states: Float[np.ndarray, "position d_model"],
    mean: Float[np.ndarray, "d_model"],
    position_basis: Float[np.ndarray, "position d_model"],
) -> Float[np.ndarray, "component"]:
    """Shares of position, context and rest in the sum of squares about the run's mean; they add up to 1.

    x_t = h_t − mean = p_t + c + r_t: p_t the run's position vector, c the prompt's mean of x − p, r_t what is left.
    The share of a part a is Σ_t ⟨a_t, x_t⟩ / Σ_t ‖x_t‖². The run's p is not orthogonal to a single prompt's c and r, so
    each product of two parts goes half to either, and a share may be negative: the part works against the others.
    NaN where nothing differs from the mean. Even if the tokens had nothing in common, c would hold about 1/T.
    """
    x = states - mean
    context = (x - position_basis).mean(0)
    total = np.sum(x**2)
    if not total > 0:
        return np.full(3, np.nan)
    position, shared = np.sum(position_basis * x) / total, np.sum(context * x.sum(0)) / total
    return np.array([position, shared, 1 - position - shared])


def counted_tokens(
    results: xr.DataTree, norms: Float[np.ndarray, "layer position"], massive: float = MASSIVE_TIMES
) -> Bool[np.ndarray, "position"]:
    """The tokens of a prompt that the run's own rules would count: a known position, and no massive norm."""
    kept = np.isin(np.arange(norms.shape[1]), first_positions(results))
    if has(results, "outliers/median_norm"):
        kept &= ~(norms > massive * numbers(results, "outliers/median_norm")[:, None]).any(0)
    return kept


def prompt_split(results: xr.DataTree, states: Float[np.ndarray, "layer position d_model"]) -> Split:
    """The shares of one prompt in every layer, over the tokens that the run's rules count; NaN where there are none."""
    counted = np.flatnonzero(counted_tokens(results, np.linalg.norm(states, axis=-1)))
    rows = np.searchsorted(first_positions(results), counted)
    shares = [
        layer_split(
            states[layer, counted].astype(np.float64),
            numbers(results, "residual/mean", layer=layer),
            numbers(results, "residual/position_basis", layer=layer)[rows],
        )
        if len(counted)
        else np.full(3, np.nan)
        for layer in range(len(states))
    ]
    return Split(np.stack(shares), counted)

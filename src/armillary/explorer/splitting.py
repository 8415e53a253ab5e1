"""The hidden states of one prompt split by a run: its positional basis, the prompt's own mean, and the residual."""

from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int

from armillary.figures.position.planes import first_positions
from armillary.measures.decomposition import layer_split
from armillary.measures.massive import massive, norm_ratios
from armillary.results.reading import has, massive_times, numbers


class Split(NamedTuple):
    """Shares of position, context and residual in each layer, and the tokens that were counted."""

    share: Float[np.ndarray, "layer component"]
    counted: Int[np.ndarray, "token"]


def counted_tokens(results: xr.DataTree, norms: Float[np.ndarray, "layer position"]) -> Bool[np.ndarray, "position"]:
    """The tokens of a prompt that the run's own rules count: at a known position, and not massive if it drops those."""
    positions = first_positions(results)
    kept = np.isin(np.arange(norms.shape[1]), positions)
    if has(results, "outliers/median_norm") and results.attrs.get("outliers") != "keep":
        ratios = norm_ratios(norms, numbers(results, "outliers/median_norm"), first_kept=0 in positions)
        kept &= ~massive(ratios, massive_times(results))
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

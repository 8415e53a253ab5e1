"""Massive activations: the one rule for tokens whose norm is far above that of the rest, and which tokens then count.

A token whose norm exceeds TIMES the layer's median in any layer is left out in all layers: it may fall back to a lower
norm in the last ones, where a rule by layer would let it in again.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

TIMES = 20.0
"""A token this many times as long as the layer's median is massive. In SmolLM2 the tokens fall into three populations,
with nothing between 14 and 30 times the median."""


def norm_ratios(norms: Any, median_norm: Any, *, first_kept: bool) -> Any:
    """Norms [layer, ..., position] over the median norm of their layer; arrays of numpy or tensors of torch.

    A position 0 that is kept gets 0: it carries the attention sink in every window, and whoever asks to keep it does
    not ask for a column of holes.
    """
    ratios = norms / median_norm.reshape(-1, *[1] * (norms.ndim - 1))
    if first_kept:
        ratios[..., 0] = 0
    return ratios


def massive(ratios: Any, times: float = TIMES) -> Any:
    """Which tokens exceed the rule in any layer: ratios [layer, ...] to true or false [...]."""
    return (ratios > times).any(0)


def counted(massive: Bool[np.ndarray, " sample"], holes: int) -> Bool[np.ndarray, " sample"]:
    """The sampled tokens that count: without the massive ones, if the run left such tokens out.

    A run that leaves them out has a hole for each; one that keeps them has none.
    """
    return ~massive if holes else np.ones_like(massive)


def counted_states(
    states: Float[np.ndarray, "*layer sample d_model"], massive: Bool[np.ndarray, " sample"], holes: int
) -> Float[np.ndarray, "*layer token d_model"]:
    """Their states; the very array that was given where all of them count."""
    kept = counted(massive, holes)
    return states if kept.all() else states[..., kept, :]


def first_ratio(first: Float[np.ndarray, "d_model"], median_norm: float) -> float:
    """The norm of the mean state at position 0, which is left out, over the median norm of its layer.

    No error: the states at position 0 are not kept one by one; the norm of their mean is at most their mean norm.
    """
    return float(np.linalg.norm(first.astype(np.float64)) / median_norm) if median_norm > 0 else float("nan")


def position_share_with_first(
    position_basis: Float[np.ndarray, "position d_model"],
    mean: Float[np.ndarray, "d_model"],
    first: Float[np.ndarray, "d_model"],
    squares: Float[np.ndarray, "group"],
    group: Int[np.ndarray, "context"],
) -> float:
    """The plug-in position share if position 0 counted, its states taken as their mean: an upper bound.

    One more position at distance ‖first − mean‖ adds C · T/(T+1) · ‖first − mean‖² to position and to the total, for C
    windows and T positions; what the states at position 0 vary would add to the total alone.
    """
    windows, positions = group.size, len(position_basis)
    added = windows * positions / (positions + 1) * float(((first - mean).astype(np.float64) ** 2).sum())
    total = float(squares.sum()) + added
    position = windows * float((position_basis.astype(np.float64) ** 2).sum()) + added
    return position / total if total > 0 else float("nan")

"""Which of the sampled tokens count."""

import numpy as np
from jaxtyping import Bool, Float


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

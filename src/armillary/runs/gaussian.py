"""Add to a run what the Gaussian lens shows of it."""

from armillary.models.view import View, refuse_unloaded
from armillary.probes.lens.groups import lens_groups
from armillary.results.store import Run
from armillary.runs.keeping import joined
from armillary.runs.page import refreshed

DIRECTIONS, WINDOWS = 8, 64
"""How many leading directions of the states count, and how many windows of the run are read once more."""


def gaussian(
    view: View,
    run: Run,
    *,
    directions: int = DIRECTIONS,
    windows: int = WINDOWS,
    seed: int = 0,
    progress: bool = True,
) -> Run:
    """The run with its tokens seen as jointly Gaussian: by distance, head by head, and through depth.

    `windows` of the run's own windows are read once more. States are projected to `directions` leading directions,
    whose share of the variance is given. Added are the mutual information of two tokens by distance with its error over
    documents and the circular-shift null; the law of the likeliest tokens, what they explain of their own and of the
    next state, and what Gaussian conditionals make of that; logits of every head, predicted from Gaussian queries and
    keys and measured; what the low-rank W_Q, W_K and W_V keep of mutual information; entropy and mutual information
    after attention, with real and with fixed weights; token similarity through depth, beside the random-weight control,
    the model with W_Q and W_K scaled, and random stacks. `seed` draws the null and the stacks, `progress` shows
    the passes. A run in a folder keeps it there, and its page follows.
    """
    refuse_unloaded(view)
    found = lens_groups(view, run, directions=directions, windows=windows, seed=seed, progress=progress)
    return refreshed(joined(run, found))

"""The repeated-token test of a run's model, beside its random-weight control."""

from collections.abc import Callable

import numpy as np
import torch
import xarray as xr
from jaxtyping import Int
from torch import Tensor

from armillary.attention.pattern_sums import SCALARS
from armillary.attention.reading import reading_heads
from armillary.measures.taxonomy import LOCAL_SPANS
from armillary.models import View, load
from armillary.probes.repeats import repeat_scores, repeated_windows
from armillary.probes.windows import spread
from armillary.results.schema.naming import REPEATED
from armillary.results.store import Run
from armillary.surveys.running import model_threads
from armillary.system.progress import progress as progress_bar
from armillary.system.progress import say

TEXT_WINDOWS = 16
"""How many of the run's own windows the control reads."""

CONTROL_SEED = 1_000_003
"""Added to the run's seed: a run of a random-weight control is not compared with itself."""


def repeats(view: View, run: Run, progress: bool) -> xr.Dataset:
    """The repeated-token test of the run's model and of its random-weight control."""
    tokens = run.results["corpus"].tokens.values.astype(np.int64)
    prefix = shared_prefix(tokens)
    seed = int(run.provenance["seed"])
    repeated = repeated_windows(view, tokens, prefix, seed=seed)
    text = tokens[spread(len(tokens), TEXT_WINDOWS)]
    if progress:
        say(
            f"{view.name}: the repeated-token test reads {len(repeated)} windows of {repeated.shape[1]} tokens with "
            f"the model and its random-weight control, and {len(text)} windows of the run's text with the control"
        )
    with progress_bar(view.name, 2 * len(repeated), repeated.shape[1], show=progress) as report:
        return repeat_dataset(view, repeated, text, len(prefix), seed + CONTROL_SEED, report)


def shared_prefix(tokens: Int[np.ndarray, "context position"]) -> tuple[int, ...]:
    """The first token where all windows begin with the same one, as with a BOS or CLS."""
    first = np.unique(tokens[:, 0])
    return (int(first[0]),) if len(first) == 1 and len(tokens) > 1 else ()


def repeat_dataset(
    view: View,
    repeated: Int[np.ndarray, "repeat twice"],
    text: Int[np.ndarray, "context position"],
    prefix: int,
    seed: int,
    report: Callable[[int], None],
) -> xr.Dataset:
    """The group /repeats: scores of the model by window, those of its control, and the control's masses on text."""
    own = repeat_scores(view, repeated, prefix, report)
    control = load(view.model, random_weights=seed, check=False)
    null = repeat_scores(control, repeated, prefix, report).mean(-1)
    first, local = text_masses(control, text)
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
        f"{name}_repeats": (("block", "head", "repeat"), own[i]) for i, name in enumerate(REPEATED)
    }
    variables |= {f"{name}_twin": (("block", "head"), null[i]) for i, name in enumerate(REPEATED)}
    variables |= {"mass_first_twin": (("block", "head"), first), "mass_local_twin": (("block", "head"), local)}
    return xr.Dataset(variables)


@torch.inference_mode()
def text_masses(view: View, tokens: Int[np.ndarray, "context position"]) -> tuple[np.ndarray, np.ndarray]:
    """Attention on position 0 and within 4 tokens, per block and head, over some windows."""
    with reading_heads(view, skipped=1, drop=True) as read, model_threads(view) as crew:

        def masses(window: Int[np.ndarray, " position"]) -> tuple[Tensor, Tensor]:
            view.run(window[None])
            seen = read.take(view.n_blocks)
            return seen.scalars[0, ..., SCALARS.index("mass_first")], seen.profile[0, ..., :LOCAL_SPANS]

        first, local = zip(*crew.map(masses, tokens), strict=True)
    mean_first, mean_local = (sum(rows[1:], start=rows[0]) / len(tokens) for rows in (first, local))
    return mean_first.cpu().numpy(), mean_local.sum(-1).cpu().numpy()

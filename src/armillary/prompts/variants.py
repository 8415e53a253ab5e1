"""One text through a model as it is and as it is changed: with scaled queries and keys, without a head."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr

from armillary.errors import refuse_outside
from armillary.measures.maps import total_variation
from armillary.models.decoding import decoded, has_head
from armillary.models.interventions import Change, changed
from armillary.models.view import View
from armillary.prompts.continuation import continuation
from armillary.prompts.prompt import prompt


class Variant(NamedTuple):
    """What one change does to a text: its maps, how far they and the next token are from the model as it is.

    `moved` (block) is the total variation between attention rows, 0 to 1, mean over heads and queries; `divergence` is
    KL(as it is ‖ changed) of the next token in nats, NaN without a language head.
    """

    name: str
    maps: xr.Dataset
    moved: np.ndarray
    divergence: float
    continuation: str | None
    note: str


def variants(view: View, text: Any, changes: Sequence[Change], tokens: int) -> list[Variant]:
    """The model as it is, then each change by itself; `tokens` of continuation each, 0 for none."""
    for change in changes:
        if change.without is not None:
            refuse_outside("a block", change.without[0], 0, view.n_blocks - 1)
    first = variant(view, text, Change(), tokens, None)
    return [first, *(variant(view, text, change, tokens, first.maps) for change in changes if not change.nothing)]


def variant(view: View, text: Any, change: Change, tokens: int, before: xr.Dataset | None) -> Variant:
    """One change, compared with the maps and states before it."""
    with changed(view, change) as note:
        maps = prompt(view, text)
        divergence = next_divergence(view, maps if before is None else before, maps)
        followed = continuation(view, text, tokens) if tokens else None
    moved = total_variation(maps.pattern.values, (maps if before is None else before).pattern.values)
    return Variant(name_of(change), maps, moved.mean(axis=(1, 2)), divergence, followed, note)


def name_of(change: Change) -> str:
    """A change in a word or two."""
    if change.nothing:
        return "as it is"
    scaled = "" if change.alpha == 1 else f"α = {change.alpha:g}"
    silenced = "" if change.without is None else "without L{}H{}".format(*change.without)
    return ", ".join(filter(None, (scaled, silenced)))


def next_divergence(view: View, before: xr.Dataset, after: xr.Dataset) -> float:
    """KL(before ‖ after) of the model's next token, in nats; NaN where the model has no language head."""
    if not has_head(view):
        return float("nan")
    states = np.stack([maps.states.values[-1, -1] for maps in (before, after)])
    one, other = (
        part.double().log_softmax(-1)
        for part in torch.cat([some.logits for some in decoded(view, torch.from_numpy(states).to(view.device))])
    )
    return float((one.exp() * (one - other)).sum())

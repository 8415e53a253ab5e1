"""Which windows are read once more beside a run, and which group of documents each belongs to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from armillary.errors import RequestError
from armillary.models.view import View
from armillary.prompts.ids import Ids, prompt_ids
from armillary.results.store import Run


@dataclass(frozen=True)
class ReadPlan:
    """Windows to read, the group of each, how many windows each group has, and which windows of the run they are.

    `rows` is None for texts of one's own.
    """

    windows: list[Ids]
    groups: Int[np.ndarray, "window"]
    sizes: Float[np.ndarray, "group"]
    rows: Int[np.ndarray, "window"] | None = None


def read_plan(view: View, run: Run, texts: Sequence[str] | None, windows: int) -> ReadPlan:
    """What to read: windows of the run, spread evenly over its groups, or given texts, each a group of its own."""
    if texts is not None:
        if isinstance(texts, str) or not len(texts):
            raise RequestError("expected a list of texts, got none or a single text: put it into a list")
        return ReadPlan([prompt_ids(view, text) for text in texts], np.arange(len(texts)), np.ones(len(texts)))
    if windows < 1:
        raise RequestError(f"expected at least 1 window, got {windows}: ask for more")
    corpus = run.results["corpus"].to_dataset()
    tokens, group = corpus.tokens.values, corpus.group.values
    # Windows are stored sorted by group, so that even steps visit as many groups as there can be.
    chosen = spread(len(tokens), windows)
    _, groups = np.unique(group[chosen], return_inverse=True)
    sizes = np.bincount(groups).astype(np.float64)
    return ReadPlan([tokens[row].astype(np.int64) for row in chosen], groups, sizes, chosen)


def spread(available: int, wanted: int) -> Int[np.ndarray, "window"]:
    """At most `wanted` of the windows 0..available−1, in even steps from the first to the last."""
    return np.unique(np.linspace(0, available - 1, min(wanted, available)).round().astype(int))

"""Which windows the lens reads, which of their tokens count, and whether they are enough for what is asked."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from armillary.errors import RequestError, refuse_outside
from armillary.measures.errors.jackknife import FEWEST, effective_groups
from armillary.measures.gaussian.distance import needed_windows
from armillary.measures.gaussian.information import positive_rank
from armillary.models.view import View
from armillary.probes.constituents import counted_positions
from armillary.probes.reloading import refuse_another
from armillary.probes.windows import read_plan
from armillary.results.reading import require
from armillary.results.store import Run

WIDER = 4
"""How many times the directions asked for states are read along: the leading ones are found anew among them."""

FARTHEST = 64
"""Tokens of the largest distance that is looked at, less in short windows."""


@dataclass(frozen=True)
class Sample:
    """Windows of a run, which of their tokens count, and the group of documents of each window, counted from 0."""

    tokens: Int[np.ndarray, "context position"]
    kept: Bool[np.ndarray, "context position"]
    group: Int[np.ndarray, " context"]

    @property
    def groups(self) -> float:
        """The effective number of groups, which errors rest on."""
        return effective_groups(np.bincount(self.group).astype(np.float64))

    @property
    def distances(self) -> Int[np.ndarray, " distance"]:
        """Distances at which pairs are counted: 1, 2, 4, ... up to half of a window."""
        longest = min(FARTHEST, self.length // 2)
        return 2 ** np.arange(int(np.log2(max(longest, 1))) + 1)

    @property
    def length(self) -> int:
        """Positions of a window that count."""
        return int(self.kept.any(0).sum())

    def only(self, windows: int) -> "Sample":
        """At most this number of the windows, spread evenly."""
        some = np.unique(np.linspace(0, len(self.tokens) - 1, min(windows, len(self.tokens))).round().astype(int))
        return Sample(self.tokens[some], self.kept[some], np.unique(self.group[some], return_inverse=True)[1])


def sample_of(view: View, run: Run, windows: int, directions: int) -> Sample:
    """Windows of the run, spread over its groups of documents; refused where they are too few for the dimensions."""
    refuse_another(run, view)
    require(run.results, "residual", "corpus")
    refuse_outside("directions", directions, 1, view.d_model)
    plan = read_plan(view, run, None, windows)
    assert plan.rows is not None
    tokens = np.stack(plan.windows)
    first = int(run.results["residual"].to_dataset().position.values[0])
    kept = np.stack([counted_positions(run, int(row), tokens.shape[1]) for row in plan.rows])
    kept[:, :first] = False
    sample = Sample(tokens, kept, plan.groups)
    refuse_few(sample, directions)
    return sample


def refuse_few(sample: Sample, directions: int) -> None:
    """Refuse too few groups of documents for an error, and too few windows for a covariance of two tokens."""
    groups = int(sample.group.max()) + 1
    if groups < FEWEST:
        raise RequestError(
            f"expected windows of at least {FEWEST} groups of documents, got {groups}: survey more contexts, or a "
            "corpus of more documents"
        )
    # Errors leave one group out, and what is left must have more degrees of freedom than the two tokens dimensions.
    left = len(sample.tokens) - int(np.bincount(sample.group).max())
    needed = needed_windows(sample.length, int(sample.distances[-1]), 2 * directions)
    if left < needed:
        raise RequestError(
            f"expected {needed} windows beside the largest group for {directions} directions of two tokens, got "
            f"{left}: survey more contexts, or ask for fewer directions"
        )


def frame(run: Run, directions: int) -> tuple[Float[np.ndarray, "layer mode d_model"], Float[np.ndarray, " layer"]]:
    """Leading directions of every layer's states, from the run's covariance, WIDER times as many as asked for.

    And the share of the variance in as many as asked for.
    """
    states = run.results["residual"].to_dataset()
    if "covariance" not in states:
        raise RequestError("expected a run with the covariance of its states, got one without: survey the model again")
    found, shares = [], []
    for layer, covariance in enumerate(states.covariance.values.astype(np.float64)):
        values, vectors = np.linalg.eigh(covariance)
        rank = positive_rank(np.where(values > values[-1] * np.finfo(np.float32).eps, values, 0))
        if rank < directions:
            raise RequestError(
                f"expected states that vary in {directions} directions, got {rank} at layer {layer}, whose covariance "
                f"is not positive definite in more: ask for --directions {rank}"
            )
        found.append(vectors[:, ::-1][:, : WIDER * directions].T)
        shares.append(values[::-1][:directions].sum() / values.sum())
    return np.stack(found), np.array(shares)

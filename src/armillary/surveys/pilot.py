"""What the first windows say before anything is summed: each layer's median norm, and its leading directions.

They are windows of the first shard, so that nothing depends on batches or workers.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from armillary.measures.massive import massive, norm_ratios
from armillary.surveys.plan import Plan
from armillary.surveys.sums.batch import lengths
from armillary.surveys.sums.frame import Frame, frame


@dataclass(frozen=True)
class Pilot:
    """The layers' median norms, by which tokens are massive, and the frame in which groups' variances are kept."""

    medians: Float[Tensor, " layer"]
    frame: Frame


def pilot(states: list[Float[Tensor, "context position d_model"]], plan: Plan) -> Pilot:
    """The pilot of the first windows' states in every layer, position 0 already set apart when it is dropped."""
    norms = torch.stack([lengths(layer) for layer in states])
    medians = norms.flatten(1).median(1).values
    kept = kept_tokens(massive(norm_ratios(norms, medians, first_kept=not plan.skipped)), plan)
    return Pilot(medians, frame([layer[kept] for layer in states]))


def kept_tokens(flagged: Bool[Tensor, "context position"], plan: Plan) -> Bool[Tensor, "context position"]:
    """Which tokens the sums run over: all, or all but the massive ones."""
    return ~flagged if plan.outliers == "drop" else torch.ones_like(flagged)

"""What attention does to the tokens of a window, block by block: similarity, rank collapse, output norm."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from armillary.attention.patterns import home
from armillary.measures.massive import massive

MIXING = ("similarity_residual", "similarity_output", "collapse_residual", "collapse_output", "output_norm")
"""What is one number per block, in the order in which it is kept."""


def mixing(
    state: Float[Tensor, "context position d_model"],
    output: Float[Tensor, "context position d_model"],
    *,
    drop: bool,
) -> Float[Tensor, "context measure"]:
    """The numbers of MIXING for each window: a block's input state, and the output of its attention before any norm.

    With `drop`, tokens whose state is over 20 times as long as the window's median are left out: one of them would be
    the whole norm of the window. The rule looks at this block alone, as nothing else is known while the pass runs.
    """
    state, output = state.float(), output.float()
    norms = torch.linalg.vector_norm(state, dim=-1)
    ratio = norms / norms.median(-1, keepdim=True).values
    kept = ~massive(ratio[None]) if drop else torch.ones_like(ratio, dtype=torch.bool)
    lengths = torch.linalg.vector_norm(output, dim=-1)
    relative = (lengths / norms.clamp_min(torch.finfo(torch.float32).tiny) * kept).sum(-1) / kept.sum(-1)
    measures = [
        similarity(state, norms, kept),
        similarity(output, lengths, kept),
        collapse(state, kept),
        collapse(output, kept),
        relative,
    ]
    return torch.stack(measures, -1).to(home(state), torch.float64)


def similarity(
    x: Float[Tensor, "context position d_model"],
    norms: Float[Tensor, "context position"],
    kept: Bool[Tensor, "context position"],
) -> Float[Tensor, " context"]:
    """Mean cosine of different kept tokens of a window: (‖Σ x̂‖² − n) / (n (n − 1)); NaN with a single token.

    A token of norm zero has cosine 0 with every other.
    """
    weights = torch.where(kept & (norms > 0), 1 / norms, 0)
    together = weights[:, None].bmm(x)[:, 0].square().sum(-1)
    count = kept.sum(-1).float()
    return (together - (weights > 0).sum(-1)) / (count * (count - 1))


def collapse(
    x: Float[Tensor, "context position d_model"], kept: Bool[Tensor, "context position"]
) -> Float[Tensor, " context"]:
    """‖X − 1 x̄ᵀ‖ / ‖X‖ over the kept tokens of a window: 0 where all are one vector; x̄ is the nearest such vector."""
    used = x * kept[..., None]
    mean = used.sum(1, keepdim=True) / kept.sum(-1)[:, None, None]
    apart = torch.linalg.vector_norm((used - mean) * kept[..., None], dim=(1, 2))
    return apart / torch.linalg.vector_norm(used, dim=(1, 2))

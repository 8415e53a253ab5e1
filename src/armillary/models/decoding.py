"""What hidden states decode to, by the model's own last norm and head: they are run, not rebuilt."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import nn

from armillary.errors import RequestError
from armillary.models.hooks import hidden_states, hooked, last_output
from armillary.models.view import View

NUMBERS = 1 << 24
"""How many logits are in memory at a time."""


class Decoded(NamedTuple):
    """Some states as the head has them: what the unembedding reads, and the logits that the model gives."""

    read: Float[torch.Tensor, "row d_embedding"]
    logits: Float[torch.Tensor, "row vocab"]


class Likeliest(NamedTuple):
    """The likeliest tokens of some states, the first the likeliest, and their probabilities."""

    token: Int[np.ndarray, "row choice"]
    probability: Float[np.ndarray, "row choice"]


def likeliest(view: View, states: Float[torch.Tensor, "row d_model"], count: int) -> Likeliest:
    """What states of any layer decode to: the logit lens, and at the last layer the model's own next token."""
    found = [some.logits.float().softmax(-1).topk(min(count, some.logits.shape[-1])) for some in decoded(view, states)]
    return Likeliest(
        torch.cat([top.indices for top in found]).cpu().numpy(),
        torch.cat([top.values for top in found]).cpu().numpy(),
    )


def has_head(view: View) -> bool:
    """Whether a model gives logits over its vocabulary."""
    return view.W_U is not None


def refuse_headless(view: View) -> None:
    """Refuse a model that gives hidden states alone."""
    if not has_head(view):
        raise RequestError(
            f"expected a model with a language head to decode states, got {type(view.model).__name__}: "
            "load one that has it, or leave the lens out"
        )


@torch.inference_mode()
def decoded(view: View, states: Float[torch.Tensor, "row d_model"]) -> Iterator[Decoded]:
    """States of any layer, some at a time, as if each were the last block's output.

    The model runs on one token, and the states take the place of what its last block gives: everything after it (final
    norm, the transform of a masked-language head, soft cap) is the model's own and acts on each state by itself.
    """
    refuse_headless(view)
    unembedding = view.model.get_output_embeddings()
    inputs: list[torch.Tensor] = []

    def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        inputs.append(hidden_states(args, kwargs))

    padding = getattr(view.config, "pad_token_id", None)
    token = torch.tensor([[1 if padding == 0 else 0]])
    for rows in states.split(max(1, NUMBERS // unembedding.weight.shape[0])):
        with hooked(before=(((unembedding,), before),)), last_output(view.blocks, rows[:, None]):
            logits = view.run(token, head=True).logits
        yield Decoded(inputs.pop().flatten(0, -2), logits.flatten(0, -2))

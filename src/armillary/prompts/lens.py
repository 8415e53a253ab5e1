"""The logit lens on one token: what its state in every layer decodes to, and at the last layer the next token."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Shaped

from armillary.corpora.tokens import token_text
from armillary.models.decoding import likeliest
from armillary.models.view import View


class Lens(NamedTuple):
    """The likeliest tokens of every layer as text, escaped, and their probabilities; the likeliest first."""

    text: Shaped[np.ndarray, "layer choice"]
    probability: Float[np.ndarray, "layer choice"]


def token_lens(view: View, states: Float[np.ndarray, "layer d_model"], count: int = 10) -> Lens:
    """What the states of one token decode to by the model's own final norm and head, `count` tokens for each layer."""
    given = torch.from_numpy(states).to(view.model.device, view.model.dtype)
    found = likeliest(view, given, count)
    texts = [[token_text(view.tokenizer, int(token)) for token in row] for row in found.token]
    return Lens(np.array(texts, dtype=str), found.probability)

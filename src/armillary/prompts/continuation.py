"""How the model itself continues a text."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

from armillary.errors import RequestError
from armillary.models.attention import Receiver, attention_calls
from armillary.models.view import View
from armillary.prompts.ids import Ids, prompt_ids


def continuation(view: View, source: Any, tokens: int = 20, *, receive: Receiver | None = None) -> str:
    """The model's own greedy continuation: at each step the likeliest token, until it ends or `tokens` are there.

    Special tokens are left out; the text is the model's own, so escape it before it is shown. `receive` gets the
    attention calls of the prompt on the way.
    """
    if not view.model.can_generate() or view.W_U is None:
        raise RequestError(
            f"expected a causal language model to continue a text, got {type(view.model).__name__}: load one"
        )
    if view.tokenizer is None:
        raise RequestError(
            f"expected a tokenizer to write a continuation, got none for {view.name}: give tokenizer=..."
        )
    ids = prompt_ids(view, source)
    room = tokens if view.max_length is None else min(tokens, view.max_length - len(ids))
    return str(view.tokenizer.decode(greedy(view, ids, room, receive), skip_special_tokens=True))


@torch.inference_mode()
def greedy(view: View, ids: Ids, tokens: int, receive: Receiver | None = None) -> list[int]:
    """The ids that follow, an end token not counted. `receive` gets the attention calls of the prompt itself."""
    ends = view.model.generation_config.eos_token_id
    stops = set(ends) if isinstance(ends, list) else {ends}
    with attention_calls(view, receive) if receive else nullcontext():
        out = view.run(ids[None], head=True, use_cache=True)
    followed: list[int] = []
    while len(followed) < tokens:
        best = int(out.logits[0, -1].argmax())
        if best in stops:
            break
        followed.append(best)
        if len(followed) < tokens:
            out = view.run(np.array([[best]]), head=True, past_key_values=out.past_key_values, use_cache=True)
    return followed

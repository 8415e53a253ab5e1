"""What a prompt's token ids are, and one pass of the model over them."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Int

from armillary.corpora.tokens import encoded
from armillary.errors import RequestError, refuse_blank, refuse_outside
from armillary.models.attention import Receiver, attention_calls
from armillary.models.view import View

Ids = Int[np.ndarray, "position"]


def prompt_ids(view: View, source: Any) -> Ids:
    """The token ids of a text, or checked ids; refuses what is empty, too long or no token of this model."""
    if isinstance(source, str):
        if view.tokenizer is None:
            raise RequestError(f"expected token ids, got a text: {view.name} has no tokenizer")
        refuse_blank(source)
        ids = np.array(encoded(view.tokenizer, [source], special=True)[0], dtype=np.int64)
    else:
        ids = np.asarray(source)
        if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
            raise RequestError(
                f"expected a text or a row of token ids, got an array {ids.dtype} {ids.shape}: give one row of integers"
            )
        ids = ids.astype(np.int64)
    if not len(ids):
        raise RequestError("expected at least one token, got an empty prompt: give some")
    vocabulary = int(view.backbone.get_input_embeddings().num_embeddings)
    for extreme in (int(ids.min()), int(ids.max())):
        refuse_outside("token ids", extreme, 0, vocabulary - 1)
    if view.max_length is not None and len(ids) > view.max_length:
        raise RequestError(
            f"expected at most {view.max_length} tokens, as {view.name} allows, got {len(ids)}: shorten the prompt"
        )
    return ids


def read_pass(view: View, ids: Ids, receive: Receiver) -> None:
    """One pass of one row of ids; every attention call goes to `receive`."""
    with torch.inference_mode(), attention_calls(view, receive):
        view.run(ids[None])

"""One text through a model, with every map that a person wants to see."""

from typing import Any

import numpy as np
import psutil
import torch
import xarray as xr
from einops import einsum
from jaxtyping import Float

from armillary.attention.patterns import allowed_keys
from armillary.corpora.tokens import token_text
from armillary.errors import RequestError
from armillary.models.attention import AttentionCall, Receiver, probabilities, products
from armillary.models.states import reading
from armillary.models.view import View, refuse_unloaded
from armillary.prompts.ids import prompt_ids, read_pass
from armillary.prompts.words import words_of

_MEANING = {
    "token": ("token id", "the tokens as the model saw them, special ones counted"),
    "text": ("text", "their texts, escaped"),
    "word_index": ("index", "which word a token belongs to"),
    "word_text": ("text", "the words, escaped"),
    "logits": ("1", "scaled products of queries and keys of all pairs, before soft cap, ALiBi and mask"),
    "pattern": (
        "1",
        "attention: what the model's softmax gives; every row adds up to 1, or to less where a sink takes some",
    ),
    "allowed": ("true or false", "whether a query may attend to a key in this block"),
    "output_norm": ("units of the stream", "norm of what a head adds at a position, through W_O, its bias not counted"),
    "states": ("units of the stream", "the hidden states, before a final norm"),
}


def prompt(view: View, source: Any, *, receive: Receiver | None = None) -> xr.Dataset:
    """All maps and states of one text or row of token ids: logits and pattern (block, head, query, key), states, ...

    A text is tokenised as the tokenizer does by itself, its own special tokens added; ids are taken as they are.
    `receive` gets the attention calls on the way.
    """
    refuse_unloaded(view)
    view.known_family("attention maps")
    ids = prompt_ids(view, source)
    refuse_if_too_long(view, len(ids))
    maps: dict[str, list[np.ndarray]] = {name: [] for name in ("logits", "pattern", "allowed", "output_norm")}

    def read_call(call: AttentionCall) -> None:
        for name, value in maps_of(view, call).items():
            maps[name].append(value)
        if receive is not None:
            receive(call)

    with torch.inference_mode(), reading(view, attention=False) as read:
        read_pass(view, ids, read_call)
        states, _ = read.take(view.n_blocks)
    variables: dict[str, Any] = {
        "token": ("position", ids),
        "text": ("position", np.array([token_text(view.tokenizer, int(token)) for token in ids], dtype=str)),
        "logits": (("block", "head", "query", "key"), np.stack(maps["logits"])),
        "pattern": (("block", "head", "query", "key"), np.stack(maps["pattern"])),
        "allowed": (("block", "query", "key"), np.stack(maps["allowed"])),
        "output_norm": (("block", "head", "query"), np.stack(maps["output_norm"])),
        "states": (("layer", "position", "d_model"), np.stack([state[0].float().cpu().numpy() for state in states])),
    }
    if view.tokenizer is not None:
        words = words_of(view.tokenizer, ids.tolist())
        variables["word_index"] = ("position", words.word_index)
        variables["word_text"] = ("word", np.array(words.texts, dtype=str))
    dataset = xr.Dataset(variables, attrs={"model": view.name})
    for name, variable in dataset.data_vars.items():
        units, meaning = _MEANING[str(name)]
        variable.attrs.update(units=units, long_name=meaning)
    return dataset


def refuse_if_too_long(view: View, length: int) -> None:
    """Refuse a prompt whose maps do not fit into memory."""
    needed = view.n_blocks * length**2 * (8 * view.n_heads + 1) + 4 * (view.n_blocks + 1) * length * view.d_model
    free = psutil.virtual_memory().available
    if needed > free:
        raise RequestError(
            f"expected {needed / 1e9:.1f} GB of free memory for the maps of {length} tokens, got {free / 1e9:.1f} GB: "
            "shorten the prompt, or survey it with --heads"
        )


def maps_of(view: View, call: AttentionCall) -> dict[str, np.ndarray]:
    """Logits, pattern, visibility and output norms of the first row of a call."""
    pattern = probabilities(call)[0]
    return {
        "logits": products(call)[0].float().cpu().numpy(),
        "pattern": pattern.cpu().numpy(),
        "allowed": allowed_keys(call, slice(None))[0, 0].cpu().numpy(),
        "output_norm": output_norm(view, call, pattern).cpu().numpy(),
    }


def output_norm(
    view: View, call: AttentionCall, pattern: Float[torch.Tensor, "head query key"]
) -> Float[torch.Tensor, "head query"]:
    """‖Σ pattern · value · W_O‖ of each head at each query."""
    heads = view.heads(call.block)
    value = call.value[0, list(heads.kv_head)].float()
    mixed = einsum(pattern, value, "head query key, head key d_head -> head query d_head")
    added = einsum(mixed, heads.W_O.float(), "head query d_head, head d_head d_model -> head query d_model")
    return torch.linalg.vector_norm(added, dim=-1)

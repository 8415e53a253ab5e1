"""One text through a model, with every map that a person wants to see, and how the model goes on."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import psutil
import torch
import xarray as xr
from einops import einsum
from jaxtyping import Float, Int

from armillary.attention.patterns import allowed_keys
from armillary.corpora.tokens import encoded, token_text
from armillary.errors import RequestError
from armillary.models.attention import AttentionCall, Receiver, attention_calls, probabilities, products
from armillary.models.states import reading
from armillary.models.view import View
from armillary.prompts.words import words_of

Ids = Int[np.ndarray, "position"]

_MEANING = {
    "token": ("token id", "the tokens as the model saw them, special ones counted"),
    "text": ("text", "their texts, escaped"),
    "word_index": ("index", "which word a token belongs to"),
    "word_text": ("text", "the words, escaped"),
    "logits": ("1", "scaled products of queries and keys of all pairs, before soft cap, ALiBi and mask"),
    "pattern": (
        "1",
        "attention: what the model's softmax gives; every row adds up to 1, or to less where a sink takes the rest",
    ),
    "allowed": ("true or false", "whether a query may attend to a key in this block"),
    "output_norm": ("units of the stream", "norm of what a head adds at a position, through W_O, its bias not counted"),
    "states": ("units of the stream", "the residual stream, before a final norm"),
}


def prompt(view: View, source: Any) -> xr.Dataset:
    """All maps and states of one text or row of token ids: logits and pattern (block, head, query, key), states, ...

    A text is tokenised as the tokenizer does by itself, its own special tokens added; ids are taken as they are.
    """
    view.known_family("attention maps")
    ids = prompt_ids(view, source)
    refuse_if_too_long(view, len(ids))
    maps: dict[str, list[np.ndarray]] = {name: [] for name in ("logits", "pattern", "allowed", "output_norm")}

    def receive(call: AttentionCall) -> None:
        for name, value in maps_of(view, call).items():
            maps[name].append(value)

    with torch.inference_mode(), reading(view, attention=False) as read:
        read_pass(view, ids, receive)
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


def prompt_ids(view: View, source: Any) -> Ids:
    """The token ids of a text, or checked ids; refuses what is empty, too long or no token of this model."""
    if isinstance(source, str):
        if view.tokenizer is None:
            raise RequestError(f"expected token ids, came a text: {view.name} has no tokenizer")
        if not source.strip():
            raise RequestError("expected a text with at least one word, came an empty prompt")
        found = np.array(encoded(view.tokenizer, [source], special=True)[0], dtype=np.int64)
    else:
        found = np.asarray(source)
        if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
            raise RequestError(f"expected a text or a row of token ids, came an array {found.dtype} {found.shape}")
        found = found.astype(np.int64)
    if not len(found):
        raise RequestError("expected at least one token, came an empty prompt")
    vocabulary = int(view.backbone.get_input_embeddings().num_embeddings)
    if found.min() < 0 or found.max() >= vocabulary:
        raise RequestError(f"expected token ids from 0 to {vocabulary - 1}, came {found.min()} to {found.max()}")
    if view.max_length is not None and len(found) > view.max_length:
        raise RequestError(
            f"expected at most {view.max_length} tokens, as {view.name} allows, came {len(found)}; shorten the prompt"
        )
    return found


def refuse_if_too_long(view: View, length: int) -> None:
    """Refuse a prompt whose maps do not fit into memory."""
    needed = view.n_blocks * length**2 * (8 * view.n_heads + 1) + 4 * (view.n_blocks + 1) * length * view.d_model
    free = psutil.virtual_memory().available
    if needed > free:
        raise RequestError(
            f"the maps of {length} tokens take about {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free: "
            "shorten the prompt, or survey it with --heads"
        )


def read_pass(view: View, ids: Ids, receive: Receiver) -> None:
    """One pass of one row of ids; every attention call goes to `receive`."""
    with torch.inference_mode(), attention_calls(view, receive):
        view.run(ids[None])


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


def continuation(view: View, source: Any, tokens: int = 20, *, receive: Receiver | None = None) -> str:
    """The model's own greedy continuation: at each step the likeliest token, until it ends or `tokens` are there.

    Special tokens are left out; what comes is the model's text as it is, so escape it before it is shown. `receive` is
    handed the attention calls of the prompt on the way.
    """
    if not view.model.can_generate() or view.W_U is None:
        raise RequestError(
            f"expected a causal language model to continue a text, came {type(view.model).__name__}, which cannot"
        )
    if view.tokenizer is None:
        raise RequestError(f"expected a tokenizer to write a continuation, came none for {view.name}")
    ids = prompt_ids(view, source)
    room = tokens if view.max_length is None else min(tokens, view.max_length - len(ids))
    return str(view.tokenizer.decode(greedy(view, ids, room, receive), skip_special_tokens=True))


@torch.inference_mode()
def greedy(view: View, ids: Ids, tokens: int, receive: Receiver | None = None) -> list[int]:
    """The ids that follow, an end token not counted. `receive` is told of the attention of the prompt itself."""
    ends = view.model.generation_config.eos_token_id
    stops = set(ends) if isinstance(ends, list) else {ends}
    with attention_calls(view, receive) if receive else nullcontext():
        out = view.run(ids[None], head=True, use_cache=True)
    found: list[int] = []
    while len(found) < tokens:
        best = int(out.logits[0, -1].argmax())
        if best in stops:
            break
        found.append(best)
        if len(found) < tokens:
            out = view.run(np.array([[best]]), head=True, past_key_values=out.past_key_values, use_cache=True)
    return found

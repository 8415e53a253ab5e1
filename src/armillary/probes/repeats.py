"""The repeated-token test: random tokens, repeated, show what a head looks for, free of what a text means."""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from armillary.attention.patterns import rows
from armillary.errors import RequestError
from armillary.models.attention import AttentionCall
from armillary.models.view import View
from armillary.surveys.running import read_calls

COPY = 64
"""Tokens in one copy, fewer where the model takes no such long window."""

WINDOWS = 8
"""How many windows of repeated tokens are read."""


def repeated_windows(
    view: View,
    text: Int[np.ndarray, "context token"],
    prefix: tuple[int, ...] = (),
    *,
    windows: int = WINDOWS,
    copy: int = COPY,
    seed: int = 0,
) -> Int[np.ndarray, "repeat position"]:
    """Windows of a prefix and random tokens, repeated once; no token occurs twice within a copy, none is special.

    Tokens are drawn from those of the run's text, each as likely as another: a vocabulary may hold special tokens that
    no tokenizer names, and tokens that the model never saw.
    """
    special = set(getattr(view.tokenizer, "all_special_ids", ())) | set(prefix)
    usable = np.setdiff1d(text, list(special))
    longest = view.max_length or len(prefix) + 2 * copy
    copy = min(copy, (longest - len(prefix)) // 2, len(usable))
    if copy < 4:
        raise RequestError(
            f"expected room for 4 repeated tokens, got windows of at most {longest} tokens and {len(usable)} "
            f"different tokens in the text: the heads of {view.name} cannot be named"
        )
    generator = np.random.default_rng([seed, 3])
    drawn = np.stack([generator.choice(usable, copy, replace=False) for _ in range(windows)])
    start = np.broadcast_to(np.array(prefix, dtype=np.int64), (windows, len(prefix)))
    return np.concatenate([start, drawn, drawn], axis=1)


@torch.inference_mode()
def repeat_scores(
    view: View,
    tokens: Int[np.ndarray, "repeat position"],
    prefix: int,
    report: Callable[[int], None] = lambda windows: None,
    batch: int = 4,
) -> Float[np.ndarray, "score block head repeat"]:
    """Attention from the second copy, mean over its tokens, on each of REPEATED: the token after its first occurrence
    (induction), its first occurrence (duplicate), the token before it (previous)."""
    copy = (tokens.shape[1] - prefix) // 2
    offsets = (1 - copy, -copy, -1)
    parts = [tokens[start : start + batch] for start in range(0, len(tokens), batch)]
    found: list[list[Tensor]] = [[] for _ in parts]

    def receive(part: int, call: AttentionCall) -> None:
        found[part].append(mass_at(call, range(prefix + copy, tokens.shape[1]), offsets))
        if call.block == view.n_blocks - 1:
            report(len(parts[part]))

    read_calls(view, parts, receive)
    return torch.cat([torch.stack(blocks, 1) for blocks in found], -1).numpy()


def mass_at(call: AttentionCall, queries: range, offsets: tuple[int, ...]) -> Float[Tensor, "offset head batch"]:
    """Mean over some queries of the attention on the key that stands at an offset from the query; float64."""
    batch, heads = call.query.shape[:2]
    total = torch.zeros(len(offsets), heads, batch, dtype=torch.float64)
    for part in rows(call, queries):
        pattern = part.probabilities()
        row = torch.arange(pattern.shape[2], device=pattern.device)
        for place, offset in enumerate(offsets):
            key = row + part.queries.start + offset - part.keys.start
            inside = (key >= 0) & (key < pattern.shape[3])
            mass = pattern[..., row[inside], key[inside]].sum(-1)
            total[place] += mass.T.to("cpu", torch.float64)
    return total / len(queries)

"""Passes of the model for the lens: states in their leading directions, and what attentions receive, as arrays."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from armillary.attention.mixing import similarity
from armillary.models.attention import AttentionCall, attention_calls
from armillary.models.states import reading
from armillary.models.view import View
from armillary.probes.lens.sample import Sample

BATCH = 8
"""Windows in a pass."""

HELD = 600_000_000
"""Bytes of attention inputs that are held at once; with more blocks than fit, the windows are read again."""

Report = Callable[[int], None]
Calls = dict[int, list[AttentionCall]]


@dataclass(frozen=True)
class States:
    """States of every layer along its own directions, and the mean cosine of two counted tokens of every window."""

    along: Float[np.ndarray, "layer context position mode"]
    similarity: Float[np.ndarray, "context layer"]


def block_chunks(view: View, sample: Sample) -> list[range]:
    """Blocks whose inputs are held at once."""
    step = max(1, HELD // (sample.tokens.size * view.d_model * 4))
    return [range(start, min(start + step, view.n_blocks)) for start in range(0, view.n_blocks, step)]


@torch.inference_mode()
def read_states(
    view: View, sample: Sample, directions: Float[np.ndarray, "layer mode d_model"] | None, report: Report
) -> States:
    """One pass over the windows; without directions for the similarity of tokens alone."""
    rows: list[Tensor] = []
    parts: list[Tensor] = []
    turned = [] if directions is None else [torch.from_numpy(part).to(view.device).float().T for part in directions]
    with reading(view, attention=False) as read:
        for start in range(0, len(sample.tokens), BATCH):
            at = slice(start, start + BATCH)
            view.run(sample.tokens[at])
            states = [state.float() for state in read.take(view.n_blocks)[0]]
            kept = torch.from_numpy(sample.kept[at]).to(view.device)
            lengths = [torch.linalg.vector_norm(state, dim=-1) for state in states]
            cosines = [similarity(state, norms, kept) for state, norms in zip(states, lengths, strict=True)]
            rows.append(torch.stack(cosines, 1).cpu())
            if turned:
                parts.append(torch.stack([state @ part for state, part in zip(states, turned, strict=True)]).cpu())
            report(len(sample.tokens[at]))
    along = torch.cat(parts, 1) if parts else torch.empty(len(rows[0][0]), *sample.tokens.shape, 0)
    return States(along.numpy(), torch.cat(rows).double().numpy())


@contextmanager
def holding_inputs(view: View, blocks: range) -> Iterator[Calls]:
    """The attention calls of some blocks in every pass, batch by batch, without queries, keys and values."""
    held: Calls = {block: [] for block in blocks}

    def receive(call: AttentionCall) -> None:
        if call.block in held:
            empty = {name: getattr(call, name)[:0] for name in ("query", "key", "value")}
            held[call.block].append(replace(call, input=call.input.float().clone(), **empty))

    with attention_calls(view, receive):
        yield held


@torch.inference_mode()
def read_inputs(view: View, sample: Sample, blocks: range, report: Report) -> Calls:
    """One more pass, for the attention inputs of blocks that were not held before."""
    with holding_inputs(view, blocks) as held:
        for start in range(0, len(sample.tokens), BATCH):
            view.run(sample.tokens[start : start + BATCH])
            report(len(sample.tokens[start : start + BATCH]))
    return held

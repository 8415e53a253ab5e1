"""Passes of the model for the lens: states in their leading directions, and what attentions receive, as arrays."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from armillary.attention.mixing import similarity
from armillary.models.attention import AttentionCall, attention_calls, probabilities
from armillary.models.states import reading
from armillary.models.view import View
from armillary.probes.lens.sample import Sample

TOKENS = 1024
"""Tokens in a batch, one window at least: maps of attention of a whole batch are in memory at once."""

HELD = 600_000_000
"""Bytes of attention inputs that are held at once; with more blocks than fit, the windows are read again."""

Report = Callable[[int], None]


@dataclass(frozen=True)
class States:
    """States of every layer along its own directions, and the mean cosine of two counted tokens of every window.

    `token_sums` adds up the whole states of every likely token, by group of documents.
    """

    along: Float[np.ndarray, "layer context position mode"]
    similarity: Float[np.ndarray, "context layer"]
    token_sums: Float[np.ndarray, "layer group token d_model"]


class BlockReading:
    """What one block's attention received and gave, filled window by window.

    `values` and `outputs` are those of every head along its values' leading directions, which the first batch gives;
    `pattern` is the sum of attention maps over windows. All room is taken before the pass: what is kept among what is
    freed would make the heap twice as large.
    """

    def __init__(self, view: View, sample: Sample, modes: int) -> None:
        contexts, length = sample.tokens.shape
        self.inputs = torch.empty(contexts, length, view.d_model)
        self.values, self.outputs = torch.empty(2, view.n_heads, contexts, length, modes)
        self.pattern = torch.zeros(view.n_heads, length, length)
        self.directions: Tensor | None = None
        self.read = 0

    def add(self, call: AttentionCall) -> None:
        """Take a call: the model's own queries, keys, values, mask and softmax."""
        at = slice(self.read, self.read + len(call.input))
        value = call.value.repeat_interleave(call.query.shape[1] // call.value.shape[1], dim=1).float()
        if self.directions is None:
            self.directions = leading_directions(value[:, :, 1:], self.values.shape[-1])
        pattern = probabilities(call)
        along = value @ self.directions
        self.inputs[at] = call.input.float().cpu()
        self.values[:, at] = along.transpose(0, 1).cpu()
        self.outputs[:, at] = (pattern @ along).transpose(0, 1).cpu()
        self.pattern += pattern.sum(0).cpu()
        self.read = at.stop


def leading_directions(values: Tensor, modes: int) -> Tensor:
    """Directions of largest variance of every head's values over windows and positions: head, d_head, mode."""
    cloud = values.transpose(0, 1).flatten(1, 2).double()
    centred = cloud - cloud.mean(1, keepdim=True)
    _, vectors = torch.linalg.eigh(centred.mT @ centred)
    return vectors.flip(-1)[..., :modes].to(values.dtype)


def batches(sample: Sample) -> Iterator[slice]:
    """Windows that are read together."""
    step = max(1, TOKENS // sample.tokens.shape[1])
    yield from (slice(start, start + step) for start in range(0, len(sample.tokens), step))


def block_chunks(view: View, sample: Sample) -> list[range]:
    """Blocks whose inputs are held at once."""
    step = max(1, HELD // (sample.tokens.size * view.d_model * 4))
    return [range(start, min(start + step, view.n_blocks)) for start in range(0, view.n_blocks, step)]


class TokenSums:
    """Sums of the states of likely tokens, for every layer and group of documents, filled batch by batch."""

    def __init__(self, view: View, sample: Sample, marks: Int[np.ndarray, "context position"] | None) -> None:
        self.likely = 0 if marks is None else int(marks.max()) + 1
        self.groups = int(sample.group.max()) + 1
        self.sums = torch.zeros(view.n_blocks + 1, self.groups * self.likely, view.d_model)
        self.marks = marks
        self.group = sample.group

    def add(self, at: slice, states: list[Tensor]) -> None:
        """Take the states of some windows."""
        if self.marks is None:
            return
        marks = torch.from_numpy(self.marks[at])
        places = torch.from_numpy(self.group[at])[:, None] * self.likely + marks
        used = marks >= 0
        for sums, state in zip(self.sums, states, strict=True):
            sums.index_add_(0, places[used], state.cpu()[used])

    def by_group(self) -> Float[np.ndarray, "layer group token d_model"]:
        """The sums, groups and tokens apart."""
        return self.sums.unflatten(1, (self.groups, self.likely)).numpy()


@torch.inference_mode()
def read_states(
    view: View,
    sample: Sample,
    directions: Float[np.ndarray, "layer mode d_model"] | None,
    report: Report,
    marks: Int[np.ndarray, "context position"] | None = None,
) -> States:
    """One pass over the windows; without directions and marks for the similarity of tokens alone."""
    rows: list[Tensor] = []
    parts: list[Tensor] = []
    sums = TokenSums(view, sample, marks)
    turned = [] if directions is None else [torch.from_numpy(part).to(view.device).float().T for part in directions]
    with reading(view, attention=False) as read:
        for at in batches(sample):
            view.run(sample.tokens[at])
            states = [state.float() for state in read.take(view.n_blocks)[0]]
            kept = torch.from_numpy(sample.kept[at]).to(view.device)
            lengths = [torch.linalg.vector_norm(state, dim=-1) for state in states]
            cosines = [similarity(state, norms, kept) for state, norms in zip(states, lengths, strict=True)]
            rows.append(torch.stack(cosines, 1).cpu())
            if turned:
                parts.append(torch.stack([state @ part for state, part in zip(states, turned, strict=True)]).cpu())
            sums.add(at, states)
            report(len(sample.tokens[at]))
    along = torch.cat(parts, 1) if parts else torch.empty(len(rows[0][0]), *sample.tokens.shape, 0)
    return States(along.numpy(), torch.cat(rows).double().numpy(), sums.by_group())


@contextmanager
def reading_blocks(view: View, sample: Sample, blocks: range, modes: int) -> Iterator[dict[int, BlockReading]]:
    """What the attentions of some blocks receive and give in a pass over the sample while this lasts."""
    held = {block: BlockReading(view, sample, modes) for block in blocks}

    def receive(call: AttentionCall) -> None:
        if call.block in held:
            held[call.block].add(call)

    with attention_calls(view, receive):
        yield held


@torch.inference_mode()
def read_blocks(view: View, sample: Sample, blocks: range, modes: int, report: Report) -> dict[int, BlockReading]:
    """One more pass, for blocks that were not held before."""
    with reading_blocks(view, sample, blocks, modes) as held:
        for at in batches(sample):
            view.run(sample.tokens[at])
            report(len(sample.tokens[at]))
    return held

"""Reading what heads do while the model runs: statistics of each attention call as it happens, no map kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import local
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from armillary.attention.mixing import mixing
from armillary.attention.pattern_sums import PatternSums, pattern_sums
from armillary.attention.patterns import home, rows
from armillary.errors import BrokenContract
from armillary.models.attention import AttentionCall, attention_calls
from armillary.models.hooks import hidden_states, hooked
from armillary.models.view import View

RANK_QUERIES = 128
"""Ranks are those of the map's first rows: a spectrum costs the cube of their number, and lengths stay comparable."""


@dataclass(frozen=True)
class HeadStatistics:
    """What every head does in some windows, one row each.

    `ranks` holds effective rank, stable rank and spectral gap of the windows in `ranked`, which are rows of this batch.
    """

    scalars: Float[Tensor, "context block head scalar"]
    profile: Float[Tensor, "context block head span"]
    map: Float[Tensor, "context block head query_bin key_bin"]
    signal: Float[Tensor, "context block head key_bin"]
    mixing: Float[Tensor, "context block measure"]
    ranked: tuple[int, ...]
    ranks: Float[Tensor, "sampled block head three"]


class HeadReading(local):
    """The statistics of this thread's last forward pass, block by block in the order of the calls.

    `ranked` are the rows of the coming batch whose maps are taken apart into singular values.
    """

    def __init__(self, skipped: int, drop: bool) -> None:
        self.skipped, self.drop = skipped, drop
        self.ranked: tuple[int, ...] = ()
        self.patterns: list[PatternSums] = []
        self.ranks: list[Float[Tensor, "sampled head three"]] = []
        self.mixed: list[Float[Tensor, "context measure"]] = []
        self.state: Tensor | None = None

    def attention(self, call: AttentionCall) -> None:
        """Take a call's statistics."""
        self.patterns.append(pattern_sums(call))
        self.ranks.append(map_ranks(call, self.ranked))

    def block(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Remember what a block receives until its attention has spoken."""
        self.state = hidden_states(args, kwargs)

    def output(self, module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        """Compare what the attention gives with what its block received."""
        assert self.state is not None
        kept = slice(self.skipped, None)
        self.mixed.append(mixing(self.state[:, kept], output.detach()[:, kept], drop=self.drop))
        self.state = None

    def take(self, blocks: int) -> HeadStatistics:
        """The statistics of the windows that just ran; forgets them."""
        if not len(self.patterns) == len(self.mixed) == blocks:
            raise BrokenContract(
                f"expected {blocks} attentions to run in one pass, got {len(self.patterns)} (and {len(self.mixed)} "
                f"outputs): Armillary does not know how this model calls its attentions, survey it without heads"
            )
        names = ("scalars", "profile", "map", "signal")
        stacked = {name: torch.stack([getattr(sums, name) for sums in self.patterns], 1) for name in names}
        taken = HeadStatistics(
            **stacked,
            mixing=torch.stack(self.mixed, 1),
            ranked=self.ranked,
            ranks=torch.stack(self.ranks, 1),
        )
        for kept in (self.patterns, self.ranks, self.mixed):
            kept.clear()
        return taken


@contextmanager
def reading_heads(view: View, *, skipped: int, drop: bool) -> Iterator[HeadReading]:
    """Statistics of every attention call for as long as the `with` lasts; the model gives what it always gives.

    Positions before `skipped` and, with `drop`, tokens of massive norm are left out of what is measured of tokens.
    """
    view.known_family("heads")
    assert view.outputs is not None
    read = HeadReading(skipped, drop)
    hooks = hooked(before=((view.blocks, read.block),), after=((view.outputs, read.output),))
    with hooks, attention_calls(view, read.attention):
        yield read


def map_ranks(call: AttentionCall, windows: tuple[int, ...]) -> Float[Tensor, "sampled head three"]:
    """Effective rank, stable rank and spectral gap σ₁ − σ₂ of each head's map in some windows, over its first rows.

    exp(−Σ s log s), s = σ / Σσ (Roy and Vetterli, 2007), and Σσ² / σ₁². Singular values through the Gram matrix of the
    rows in float64: those below 1e-8 of the largest are rounding, and weigh nothing in either.
    """
    heads, length = call.query.shape[1:3]
    at = home(call.query)
    ranks = torch.empty(len(windows), heads, 3, dtype=torch.float64, device=at)
    for row, window in enumerate(windows):
        (top,) = rows(one_window(call, window), range(min(length, RANK_QUERIES)), RANK_QUERIES)
        pattern = top.probabilities()[0].to(at, torch.float64)
        energy = torch.linalg.eigvalsh(pattern @ pattern.mT).clamp_min(0)
        sizes = energy.sqrt()
        share = sizes / sizes.sum(-1, keepdim=True)
        ranks[row, :, 0] = torch.special.entr(share).sum(-1).exp()
        ranks[row, :, 1] = energy.sum(-1) / energy[:, -1]
        ranks[row, :, 2] = sizes[:, -1] - sizes[:, -2]
    return ranks


def one_window(call: AttentionCall, window: int) -> AttentionCall:
    """The call as it would be if it had one window; masks may stand once for all windows."""
    at = slice(window, window + 1)

    def own(tensor: Tensor | None) -> Tensor | None:
        return tensor if tensor is None or len(tensor) == 1 else tensor[at]

    return replace(
        call,
        input=call.input[at],
        query=call.query[at],
        key=call.key[at],
        value=call.value[at],
        mask=own(call.mask),
        bias=own(call.bias),
    )

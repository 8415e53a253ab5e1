"""The hidden states of a pass, read while the model runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
from typing import Any

from torch import Tensor, nn

from armillary.errors import BrokenContract
from armillary.models.hooks import first_output, hidden_states, hooked
from armillary.models.view import View


class Reading(local):
    """The states of this thread's last forward pass, in the order in which the blocks were called."""

    def __init__(self) -> None:
        self.residual: list[Tensor] = []
        self.attention: list[Tensor] = []
        self.last: Tensor | None = None

    def take(self, blocks: int) -> tuple[list[Tensor], list[Tensor]]:
        """States 0..n of the residual stream and the inputs of the attentions; forgets them."""
        if len(self.residual) != blocks or self.last is None or len(self.attention) not in (0, blocks):
            raise BrokenContract(
                f"expected {blocks} blocks to run in one pass, got {len(self.residual)} "
                f"(and {len(self.attention)} attentions): please report how this model calls its blocks"
            )
        taken = [*self.residual, self.last], list(self.attention)
        self.residual.clear()
        self.attention.clear()
        self.last = None
        return taken


@contextmanager
def reading(view: View, *, attention: bool = True) -> Iterator[Reading]:
    """The states of every pass for as long as the `with` lasts; blocks are counted by call."""
    read = Reading()

    def before_block(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        read.residual.append(hidden_states(args, kwargs))

    def before_attention(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        read.attention.append(hidden_states(args, kwargs))

    def after_block(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        read.last = first_output(output)

    attentions = view.attentions if attention and view.attentions else ()
    before = ((view.blocks, before_block), (attentions, before_attention))
    with hooked(before, after=((view.blocks, after_block),)):
        yield read

"""The hidden states of a pass, read while the model runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import local
from typing import Any

from torch import Tensor, nn

from armillary.errors import BrokenContract
from armillary.models.hooks import first_output, hidden_states, hooked
from armillary.models.view import View


def itself(states: Tensor) -> Tensor:
    """States as the model made them."""
    return states


class Reading(local):
    """The states of this thread's last forward pass, in the order in which the blocks were called.

    `keep` says what is held of each, and may copy it; the input of an attention that is the block's own is held once.
    """

    def __init__(self) -> None:
        self.residual: list[Tensor] = []
        self.attention: list[Tensor] = []
        self.entered: Tensor | None = None
        self.last: Tensor | None = None
        self.keep: Callable[[Tensor], Tensor] = itself

    def enter_block(self, states: Tensor) -> None:
        """A block begins with these states."""
        self.residual.append(self.keep(states))
        self.entered = states

    def enter_attention(self, states: Tensor) -> None:
        """An attention begins with these states."""
        same = self.entered is not None and self.entered.data_ptr() == states.data_ptr()
        self.attention.append(self.residual[-1] if same else self.keep(states))

    def leave_block(self, states: Tensor) -> None:
        """A block ends with these states: the next one begins with them, or they are the last."""
        self.entered, self.last = None, states

    def take(self, blocks: int) -> tuple[list[Tensor], list[Tensor]]:
        """States 0..n of the residual stream and the inputs of the attentions; forgets them."""
        if len(self.residual) != blocks or self.last is None or len(self.attention) not in (0, blocks):
            raise BrokenContract(
                f"expected {blocks} blocks to run in one pass, got {len(self.residual)} "
                f"(and {len(self.attention)} attentions): please report how this model calls its blocks"
            )
        taken = [*self.residual, self.keep(self.last)], list(self.attention)
        self.residual.clear()
        self.attention.clear()
        self.last = None
        return taken


@contextmanager
def reading(view: View, *, attention: bool = True) -> Iterator[Reading]:
    """The states of every pass for as long as the `with` lasts; blocks are counted by call."""
    read = Reading()

    def before_block(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        read.enter_block(hidden_states(args, kwargs))

    def before_attention(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        read.enter_attention(hidden_states(args, kwargs))

    def after_block(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        read.leave_block(first_output(output))

    attentions = view.attentions if attention and view.attentions else ()
    before = ((view.blocks, before_block), (attentions, before_attention))
    with hooked(before, after=((view.blocks, after_block),)):
        yield read

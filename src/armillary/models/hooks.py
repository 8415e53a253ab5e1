"""Hooks on a model's modules, installed here and nowhere else, gone when the `with` ends."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

Before = Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], None]
"""Called with a module and its arguments, by position and by name, before it runs."""

After = Callable[[nn.Module, tuple[Any, ...], Any], None]
"""Called with a module, its positional arguments and its output, after it ran."""


@contextmanager
def hooked(
    before: Iterable[tuple[Iterable[nn.Module], Before]] = (), after: Iterable[tuple[Iterable[nn.Module], After]] = ()
) -> Iterator[None]:
    """Forward hooks for as long as the `with` lasts. A module that stands for several blocks is hooked once."""
    handles = []
    try:
        for modules, hook in before:
            handles += [module.register_forward_pre_hook(hook, with_kwargs=True) for module in dict.fromkeys(modules)]
        for modules, hook in after:
            handles += [module.register_forward_hook(hook) for module in dict.fromkeys(modules)]
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def last_output(modules: Sequence[nn.Module], states: Tensor) -> Iterator[None]:
    """The last call of these modules, which are called one after the other, gives `states` instead of its own."""
    calls = 0

    def count(module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls % len(modules):
            return None
        given = states.to(first_output(output))
        return given if isinstance(output, Tensor) else (given, *output[1:])

    handles = [module.register_forward_hook(count) for module in dict.fromkeys(modules)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def hidden_states(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """The states that a module was called with, by position or by name."""
    found: Tensor = args[0] if args else kwargs["hidden_states"]
    return found.detach()


def first_output(output: Any) -> Tensor:
    """The states that a module gives: its output, or the first of several."""
    found: Tensor = output if isinstance(output, Tensor) else output[0]
    return found.detach()

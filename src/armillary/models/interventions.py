"""What happens if: changes of a model's weights that last as long as a `with`, and leave nothing behind.

A parameter is given other numbers, and gets its own tensor back afterwards, also after an error: weights and outputs
are then what they were, bit for bit. Nothing is copied but what changes.
"""

import math
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from einops import rearrange
from jaxtyping import Float
from torch import nn
from transformers.pytorch_utils import Conv1D

from armillary.errors import RequestError, refuse_outside
from armillary.models.sources.twins import twin_of_model
from armillary.models.view import View
from armillary.models.weights import fused_columns


@dataclass(frozen=True)
class Scaled:
    """What `scaled` did: `factor` is what scores of an unchanged input are multiplied by, NaN where that is no number.

    `note` says why the factor is not α², and is empty where it is.
    """

    alpha: float
    blocks: tuple[int, ...]
    factor: float
    note: str


@contextmanager
def scaled(view: View, alpha: float, block: int | None = None, *, published: bool = False) -> Iterator[Scaled]:
    """Multiply the singular values of W_Q and W_K by α, in one block or in all: scores go with α².

    Query and key biases are multiplied too, or else α² would hold for none of the terms that they enter; `published`
    scales the matrices alone (Wertich, section 8.5). Where q and k are normalised α cancels, up to the norm's eps: a
    warning says so.
    """
    if not math.isfinite(alpha):
        raise RequestError(f"expected a finite alpha, got {alpha}: choose another")
    record = Scaled(alpha, _blocks(view, block), *_effect(view, alpha, block, published))
    if record.note:
        warnings.warn(record.note, stacklevel=3)
    changes: dict[nn.Parameter, torch.Tensor] = {}
    for number in record.blocks:
        for module, factor in _projections(view, number, alpha).items():
            changes[module.weight] = module.weight.detach() * _along_outputs(module, factor)
            if module.bias is not None and not published:
                changes[module.bias] = module.bias.detach() * factor
    with _replaced(changes):
        yield record


@contextmanager
def randomised(view: View, seed: int = 0) -> Iterator[None]:
    """Give the model the weights of its random-weight control of that seed; its own stay in memory beside them."""
    twin = dict(twin_of_model(view.model, seed).named_parameters())
    with _replaced({parameter: twin[name].detach() for name, parameter in view.model.named_parameters()}):
        yield


@contextmanager
def without_head(view: View, block: int, head: int) -> Iterator[None]:
    """Silence one head: its rows of W_O are zero, so that it adds nothing. The output bias belongs to no head."""
    view.known_family("heads")
    (number,) = _blocks(view, block)
    refuse_outside("a head", head, 0, view.n_heads - 1)
    assert view.outputs is not None
    output: Any = view.outputs[number]
    silenced = output.weight.detach().clone()
    rows = slice(head * view.d_head, (head + 1) * view.d_head)
    (silenced if isinstance(output, Conv1D) else silenced.T)[rows] = 0
    with _replaced({output.weight: silenced}):
        yield


@dataclass(frozen=True)
class Change:
    """What is changed in a model: W_Q and W_K times α, in one block or in all, and a head (block, head) silenced."""

    alpha: float = 1.0
    block: int | None = None
    without: tuple[int, int] | None = None

    @property
    def nothing(self) -> bool:
        """Whether the model stays as it is."""
        return self.alpha == 1 and self.without is None


@contextmanager
def changed(view: View, change: Change) -> Iterator[str]:
    """Make a change, and give the note of `scaled` where α has no effect; it is not warned of besides."""
    with ExitStack() as stack:
        note = ""
        if change.alpha != 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                note = stack.enter_context(scaled(view, change.alpha, change.block)).note
        if change.without is not None:
            stack.enter_context(without_head(view, *change.without))
        yield note


@contextmanager
def _replaced(changes: dict[Any, torch.Tensor]) -> Iterator[None]:
    before = {parameter: parameter.data for parameter in changes}
    try:
        for parameter, value in changes.items():
            parameter.data = value
        yield
    finally:
        for parameter, value in before.items():
            parameter.data = value


def _blocks(view: View, block: int | None) -> tuple[int, ...]:
    """The blocks to change, each module once: a model may run one module many times."""
    if block is None:
        return tuple(view.blocks.index(module) for module in dict.fromkeys(view.blocks))
    refuse_outside("a block", block, 0, view.n_blocks - 1)
    if view.blocks.count(view.blocks[block]) > 1:
        raise RequestError(
            f"expected blocks with weights of their own, got {view.config.model_type!r}, whose blocks share them: "
            "change all of them with block=None"
        )
    return (block,)


def _effect(view: View, alpha: float, block: int | None, published: bool) -> tuple[float, str]:
    heads = view.heads(0 if block is None else block)
    if not heads.bilinear:
        note = f"queries and keys of {view.config.model_type} are normalised: scaling W_Q and W_K by {alpha} cancels"
        return 1.0, note
    if published and bool(heads.b_Q.any() or heads.b_K.any()):
        return float("nan"), "query and key biases are not scaled: scores are not multiplied by one number"
    return alpha**2, ""


def _projections(view: View, block: int, alpha: float) -> dict[Any, Float[torch.Tensor, " column"]]:
    """The modules that give queries and keys, and what each of their outputs is multiplied by."""
    family, module = view.known_family("queries and keys"), view.blocks[block]
    found: list[Any] = [module.get_submodule(path) for path in dict.fromkeys((family.query, family.key))]
    if family.fused is None:
        return {part: part.weight.new_full((part.weight.shape[_output_axis(part)],), alpha) for part in found}
    factor = found[0].weight.new_ones(3, view.n_heads, view.d_head)
    factor[:2] = alpha
    return {found[0]: rearrange(factor, f"three head d_head -> {fused_columns(family)}")}


def _along_outputs(module: nn.Module, factor: Float[torch.Tensor, " column"]) -> torch.Tensor:
    return factor if _output_axis(module) == 1 else factor[:, None]


def _output_axis(module: nn.Module) -> int:
    return 1 if isinstance(module, Conv1D) else 0

"""The contract at load: on a tiny batch our reading of the weights must rebuild the model's own attention."""

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import nn

from armillary.errors import BrokenContract, NonFiniteError
from armillary.models.attention import AttentionCall, attention_calls, attention_output, query_key_value
from armillary.models.families import refuse_unknown_maths
from armillary.models.hooks import first_output, hidden_states, hooked
from armillary.models.view import View

_TOLERANCES = {torch.float64: 1e-5, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}
_LENGTH = 7


@dataclass
class Passed:
    """What one pass of the backbone showed: block inputs and outputs, attention calls and outputs, the final state."""

    states: list[torch.Tensor] = field(default_factory=list)
    after: list[torch.Tensor] = field(default_factory=list)
    calls: list[AttentionCall] = field(default_factory=list)
    outputs: list[torch.Tensor] = field(default_factory=list)
    last: torch.Tensor | None = None


@torch.no_grad()
def check_contract(view: View, *, every_block: bool = False) -> None:
    """BrokenContract unless states follow each other, and q, k, v and attention come out as the model's own.

    First, middle and last block stand for all: blocks of one model are read by the same row.
    """
    if view.family is not None:
        refuse_unknown_maths(view.config, view.family)
    ids, real = tiny_batch(view)
    try:
        passed = run(view, ids, real)
    except (RuntimeError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        why = str(error).strip().splitlines() or [repr(error)]
        raise BrokenContract(f"expected {view.name} to run on token ids, got an error: {why[0][:300]}") from error
    _compare_states(view, passed, real)
    if view.family is None:
        return
    middle = {0, view.n_blocks // 2, view.n_blocks - 1}
    for block in range(view.n_blocks) if every_block else sorted(middle):
        _compare_attention(view, passed.calls[block], passed.outputs[block], real)
        _compare_rotation(view, passed.calls[block])
        _compare_norms(view, block, passed.states[block])


def tiny_batch(view: View) -> tuple[Int[torch.Tensor, "batch position"], Bool[torch.Tensor, "batch position"]]:
    """Two windows of random tokens, the second padded on the right by two, so that the mask takes part."""
    generator = torch.Generator().manual_seed(0)
    vocabulary = int(view.backbone.get_input_embeddings().weight.shape[0])
    length = min(_LENGTH, view.max_length or _LENGTH)
    ids = torch.randint(0, vocabulary, (2, length), generator=generator)
    padding = getattr(view.config, "pad_token_id", None)
    if isinstance(padding, int) and vocabulary > 1:
        # A padding token inside the window would get another position, in some families.
        ids[ids == padding] = (padding + 1) % vocabulary
    real = torch.ones_like(ids, dtype=torch.bool)
    real[1, -2:] = False
    if isinstance(padding, int) and 0 <= padding < vocabulary:
        ids[~real] = padding
    return ids.to(view.device), real.to(view.device)


def run(view: View, ids: Int[torch.Tensor, "batch position"], real: Bool[torch.Tensor, "batch position"]) -> Passed:
    """One pass of the backbone, with everything it shows on the way."""
    passed = Passed()

    def before_block(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        passed.states.append(hidden_states(args, kwargs))

    def after_block(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        passed.after.append(first_output(output))

    def after_attention(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        passed.outputs.append(first_output(output))

    before, after = ((view.blocks, before_block),), ((view.blocks, after_block), (view.outputs or (), after_attention))
    calls = attention_calls(view, passed.calls.append) if view.family is not None else nullcontext()
    with hooked(before, after), calls:
        passed.last = view.run({"input_ids": ids, "attention_mask": real.long()}).last_hidden_state
    return passed


def _compare_states(view: View, passed: Passed, real: torch.Tensor) -> None:
    expected = (*real.shape, view.d_model)
    if len(passed.states) != view.n_blocks or any(state.shape != expected for state in passed.states):
        shapes = sorted({tuple(state.shape) for state in passed.states})
        raise BrokenContract(
            f"expected {view.n_blocks} blocks that receive states of shape {tuple(expected)} in {view.name}, "
            f"got {len(passed.states)} with {shapes}: add a row for {view.config.model_type!r} to the table of families"
        )
    if view.family is None:
        return
    for block in range(view.n_blocks - 1):
        _compare(view, f"state {block + 1}", passed.after[block], passed.states[block + 1], real)
    assert passed.last is not None
    final = passed.after[-1] if view.final_norm is None else view.final_norm(passed.after[-1])
    if final.shape == passed.last.shape:
        _compare(view, "the final state", final, passed.last, real)


def _compare_attention(view: View, call: AttentionCall, output: torch.Tensor, real: torch.Tensor) -> None:
    where = f"block {call.block}, attention"
    try:
        query, key, value = query_key_value(view, call.block, call.input, call.rotation)
        heads, group = view.heads(call.block), call.query.shape[1] // call.key.shape[1]
        theirs = call.query * call.scaling
        _compare(view, f"{where} query", (query * heads.scale).transpose(1, 2), theirs.transpose(1, 2), real)
        _compare(view, f"{where} key", key[:, ::group].transpose(1, 2), call.key.transpose(1, 2), real)
        _compare(view, f"{where} value", value[:, ::group].transpose(1, 2), call.value.transpose(1, 2), real)
        _compare(view, f"{where} output", attention_output(view, call), output, real)
    except (RuntimeError, ValueError) as error:
        # einops and torch speak of the axes; the row of the table is what must be put right.
        raise BrokenContract(_broken(view, where, str(error).strip().splitlines()[-1])) from error


def _compare_rotation(view: View, call: AttentionCall) -> None:
    site = f"block {call.block}, rotation"
    positions = torch.arange(call.input.shape[1], device=call.input.device)[None]
    ours = view.rotation(call.block, positions)
    if ours is None or call.rotation is None:
        if ours is not call.rotation:
            raise BrokenContract(_broken(view, site, "rotation on one side only"))
        return
    for mine, theirs in zip(ours, call.rotation, strict=True):
        _compare(view, site, mine.expand_as(theirs), theirs)


def _compare_norms(view: View, block: int, state: torch.Tensor) -> None:
    assert view.family is not None
    for site, path in view.family.norms.items():
        norm = view.norm(block, site)
        if norm is not None:
            own = view.blocks[block].get_submodule(path)(state)
            _compare(view, f"block {block}, norm {site}", norm(state), own)
    norm, module = view.norm_final(), view.final_norm
    if norm is not None and module is not None:
        _compare(view, "the final norm", norm(state), module(state))


def _compare(view: View, site: str, ours: torch.Tensor, theirs: torch.Tensor, real: torch.Tensor | None = None) -> None:
    if ours.shape != theirs.shape:
        raise BrokenContract(_broken(view, site, f"shapes {tuple(ours.shape)} and {tuple(theirs.shape)}"))
    if real is not None:
        ours, theirs = ours[real.to(ours.device)], theirs[real.to(theirs.device)]
    size = theirs.double().abs().max()
    error = float((ours.double() - theirs.to(ours.device).double()).abs().max() / size.clamp_min(1e-30))
    if error != error:
        _refuse_not_finite(view)
    allowed = _TOLERANCES.get(view.dtype, 1e-1)
    if not error <= allowed:
        shape = tuple(theirs.shape)
        raise BrokenContract(_broken(view, site, f"a relative error of {error:.2g} over {allowed:g}, shape {shape}"))


def _refuse_not_finite(view: View) -> None:
    """NonFiniteError that names the weights which are NaN or infinite, where these make the error."""
    bad = [name for name, weight in view.model.named_parameters() if not bool(torch.isfinite(weight).all())]
    if bad:
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        raise NonFiniteError(
            f"expected finite weights in {view.name}, got NaN or infinity in {bad[0]}{more}: "
            "the checkpoint is damaged, fetch it again"
        )


def _broken(view: View, site: str, got: str) -> str:
    return (
        f"expected our reading of {view.name} ({view.config.model_type}) to rebuild {site}, got {got}: "
        "the table of families does not fit, please report it"
    )

"""Running a plan: shards are mapped to states, states are merged in the order of the shards."""

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import chain, islice

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.errors import NonFiniteError
from armillary.measures.massive import massive, norm_ratios
from armillary.models.view import View
from armillary.surveys.checkpoint import Checkpoint
from armillary.surveys.memory import give_back
from armillary.surveys.plan import Plan
from armillary.surveys.running import Captured, captured
from armillary.surveys.sums.batch import Batch, blanked, lengths
from armillary.surveys.sums.outliers import medians, outliers
from armillary.surveys.sums.sample import Sample
from armillary.surveys.sums.state import State, Stream

CHECKPOINT_SECONDS = 30.0
"""A checkpoint is not written for less work than this: writing it would cost more than doing the work again."""

Report = Callable[[int], None]
"""Told how many windows were read since it was last called."""


@torch.inference_mode()
def local(view: View, plan: Plan, report: Report, checkpoint: Checkpoint | None = None) -> tuple[State, Tensor]:
    """Run all shards here, one after the other; returns the state and the medians of the outlier rule."""
    done, total, rule = checkpoint.load() if checkpoint and checkpoint.exists() else (0, None, None)
    report(sum(len(shard) for shard in plan.shards[:done]))
    saved = time.monotonic()
    shards = [plan.batches(shard) for shard in plan.shards[done:]]
    # The model goes on to the next shard's windows while the last ones of a shard are summed.
    with closing(captured(view, plan, chain.from_iterable(shards))) as read:
        for number, batches in enumerate(shards, done + 1):
            state, rule = shard_state(islice(read, len(batches)), plan, rule, report)
            total = state if total is None else total.absorbed(state)
            del state
            if number == len(plan.shards):
                break
            give_back()
            if checkpoint and time.monotonic() - saved >= CHECKPOINT_SECONDS:
                checkpoint.save(number, total, rule)
                saved = time.monotonic()
    if checkpoint:
        checkpoint.let_go()
    if total is None or rule is None:
        raise AssertionError("a plan has at least one shard")
    return total, rule


def shard_state(
    batches: Iterable[Captured], plan: Plan, rule: Float[Tensor, " layer"] | None, report: Report
) -> tuple[State, Float[Tensor, " layer"]]:
    """The state of one shard. Without a rule its first windows give the medians, and wait for them."""
    total: State | None = None
    waiting: list[Captured] = []
    for batch in batches:
        waiting.append(batch)
        # No name may hold a batch's states while the next one runs: they are as large as the sums.
        del batch
        if rule is None:
            if sum(len(held.contexts) for held in waiting) < plan.pilot:
                continue
            rule = pilot_medians(waiting, plan)
        while waiting:
            report(len(waiting[0].contexts))
            total = extended(total, waiting.pop(0), plan, rule)
    if total is None or rule is None:
        raise AssertionError("a shard has at least the windows of the pilot")
    return total.packed(), rule


def pilot_medians(waiting: list[Captured], plan: Plan) -> Float[Tensor, " layer"]:
    """The layers' median norms over the pilot's windows, whatever the batches were."""
    for held in waiting:
        check_finite(all_norms(held.residual), held.contexts, plan)
    layers = zip(*(held.residual for held in waiting), strict=True)
    return medians([torch.cat(states)[: plan.pilot, plan.skipped :] for states in layers])


def extended(total: State | None, captured: Captured, plan: Plan, rule: Float[Tensor, " layer"]) -> State:
    """The outlier rule, then every accumulator: the state of one more batch, added onto a state that is given up."""
    skipped, contexts = plan.skipped, tuple(captured.contexts)
    tokens = torch.from_numpy(plan.tokens[captured.contexts.start : captured.contexts.stop])[:, skipped:]
    norms = {name: all_norms(getattr(captured, name)) for name in ("residual", "attention")}
    check_finite(norms["residual"], captured.contexts, plan)
    ratios = norm_ratios(norms["residual"][:, :, skipped:], rule, first_kept=not skipped)
    flagged = massive(ratios)
    kept = ~flagged if plan.outliers == "drop" else torch.ones_like(flagged)

    def batch(name: str) -> Batch:
        states = getattr(captured, name)
        return Batch(
            states=blanked(tuple(site[:, skipped:] for site in states), kept),
            norms=norms[name][:, :, skipped:],
            kept=kept,
            contexts=contexts,
            groups=tuple(int(g) for g in plan.groups[list(contexts)]),
            shifts=tuple(int(t) for t in plan.shifts[list(contexts)]),
            first=torch.stack([site[:, 0] for site in states]) if skipped else None,
        )

    def stream(name: str, onto: Stream | None, *, scatter: bool) -> Stream:
        return onto.extended(batch(name)) if onto else Stream.of(batch(name), scatter=scatter)

    found = outliers(ratios, tokens, contexts, skipped)
    drawn = Sample.of(
        tuple(site[:, skipped:] for site in captured.residual), tokens, flagged, contexts, skipped, plan.sample
    )
    return State(
        residual=stream("residual", total.residual if total else None, scatter=True),
        attention=stream("attention", total.attention if total else None, scatter=plan.scatter == "attention")
        if captured.attention
        else None,
        outliers=total.outliers.merge(found) if total else found,
        sample=total.sample.merge(drawn) if total else drawn,
        heads=total.heads.merge(captured.heads) if total and total.heads and captured.heads else captured.heads,
    )


def all_norms(states: tuple[Tensor, ...]) -> Float[Tensor, "site context position"]:
    """‖x‖ of every token at every site."""
    return torch.stack([lengths(site) for site in states]) if states else torch.zeros(0, 0, 0)


def check_finite(norms: Float[Tensor, "layer context position"], contexts: range, plan: Plan) -> None:
    """Refuse states that are not numbers, naming the first layer and token where they appear."""
    if bool(torch.isfinite(norms).all()):
        return
    layer, row, column = (int(i) for i in (~torch.isfinite(norms)).nonzero()[0])
    raise NonFiniteError(
        f"layer {layer} gives a state that is not finite at window {contexts[row]}, position {column} "
        f"(token id {int(plan.tokens[contexts[row], column])}): nothing was averaged; "
        f"try --dtype float32, or look at the checkpoint's weights"
    )

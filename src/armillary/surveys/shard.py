"""One shard of a plan: its batches become one state. Whoever runs shards, here or elsewhere, calls this."""

from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import accumulate

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from armillary.errors import NonFiniteError
from armillary.measures.massive import massive, norm_ratios
from armillary.models.view import View
from armillary.surveys.devices import Unread, moved, named_tokens
from armillary.surveys.pilot import Pilot, kept_tokens, pilot
from armillary.surveys.plan import Plan
from armillary.surveys.running import Captured, captured
from armillary.surveys.shelving import Shelving
from armillary.surveys.sums.batch import HOST, Batch, blanked, lengths
from armillary.surveys.sums.frame import Frame
from armillary.surveys.sums.outliers import Outliers, outliers
from armillary.surveys.sums.sample import Sample, drawn_places, drawn_states
from armillary.surveys.sums.state import Increment, State

Report = Callable[[int], None]
"""Given the number of windows read since its last call."""


def shard_state(
    batches: Iterable[Captured], plan: Plan, first: Pilot | None, report: Report, shelving: Shelving | None = None
) -> tuple[State, Pilot]:
    """The state of one shard. Without a pilot its first windows give one, and wait for it.

    Sums are made where the states are, and come to the host at the end. With a `shelving`, groups that end in this
    shard may go to its disk; without, all of the state is in memory and can be sent to another process.
    """
    sums: Sums | None = None
    waiting: list[Captured] = []
    for batch in batches:
        waiting.append(batch)
        # No name may hold a batch's states while the next one runs: they are as large as the sums.
        del batch
        if first is None:
            if sum(len(held.contexts) for held in waiting) < plan.pilot:
                continue
            first = pilot_of(waiting, plan)
        sums = Sums(plan, first, waiting[0].residual[0].device, shelving) if sums is None else sums
        while waiting:
            report(len(waiting[0].contexts))
            sums.add(waiting.pop(0))
    if sums is None or first is None:
        raise AssertionError("expected the windows of the pilot, got fewer: they are windows of the first shard")
    return sums.taken(), first


class Sums:
    """The sums of a shard while its batches come, on the device where their states are."""

    def __init__(self, plan: Plan, first: Pilot, at: torch.device, shelving: Shelving | None) -> None:
        self.plan, self.first, self.at = plan, first, at
        self.there = first if at == HOST else moved(first, at)
        self.shelving = shelving if at == HOST else None
        self.total: State | None = None
        self.unread: list[Unread] = []
        self.start = -1

    def add(self, batch: Captured) -> None:
        """One more batch, which is given up."""
        contexts = batch.contexts
        if self.at == HOST:
            more = increment(batch, self.plan, self.first)
        else:
            more, norms = increment_there(batch, self.plan, self.there)
            self.unread.append(norms)
        self.total = State.of(more) if self.total is None else self.total.add(more)
        self.start = contexts.start if self.start < 0 else self.start
        if self.shelving is not None:
            self.total = self.shelving.within(self.total, self.plan, self.start, contexts.stop)

    def taken(self) -> State:
        """The state on the host; refuses states that were not finite."""
        assert self.total is not None
        if self.at == HOST:
            return self.total.packed()
        unread: list[Unread] = [moved(batch, HOST) for batch in self.unread]
        for batch in unread:
            check_finite(batch.norms, batch.contexts, self.plan)
        state: State = moved(self.total, HOST)
        self.total = None
        return named_tokens(state, unread, self.plan, self.first).packed()


@torch.inference_mode()
def first_pilot(view: View, plan: Plan, split: tuple[int, int] | None = None) -> Pilot:
    """The pilot alone, for whoever does not run the first shard: the same bits as that shard gives."""
    batches = plan.batches(plan.shards[0])
    before = [0, *accumulate(map(len, batches))]
    needed = [batch for batch, windows in zip(batches, before, strict=False) if windows < plan.pilot]
    with closing(captured(view, plan, needed, split)) as read:
        return pilot_of(list(read), plan)


def pilot_of(waiting: list[Captured], plan: Plan) -> Pilot:
    """The pilot of its windows, whatever the batches were."""
    for held in waiting:
        check_finite(all_norms(held.residual), held.contexts, plan)
    layers = zip(*(held.residual for held in waiting), strict=True)
    return pilot([torch.cat(states)[: plan.pilot, plan.skipped :].to(HOST) for states in layers], plan)


def increment(captured: Captured, plan: Plan, first: Pilot) -> Increment:
    """What one batch brings to the state, by the outlier rule. Left-out tokens are blanked in the captured states."""
    contexts, skipped = captured.contexts, plan.skipped
    norms, attention_norms = all_norms(captured.residual), all_norms(captured.attention)
    check_finite(norms, contexts, plan)
    ratios = norm_ratios(norms[:, :, skipped:], first.medians, first_kept=not skipped)
    flagged = massive(ratios)
    kept = kept_tokens(flagged, plan)
    tokens = torch.from_numpy(plan.tokens[contexts.start : contexts.stop])[:, skipped:]
    named = outliers(ratios, tokens, tuple(contexts), skipped)
    # Drawn tokens are kept as they are, so before any of them is blanked.
    states = tuple(site[:, skipped:] for site in captured.residual)
    sample = Sample.of(states, tokens, flagged, tuple(contexts), skipped, plan.sample)
    residual = batch_of(captured.residual, norms, kept, contexts, plan, scatter=True, frame=first.frame)
    attention = None
    if captured.attention:
        products = plan.scatter == "attention"
        attention = batch_of(captured.attention, attention_norms, kept, contexts, plan, scatter=products)
    return Increment(residual, attention, named, sample, captured.heads)


def increment_there(captured: Captured, plan: Plan, first: Pilot) -> tuple[Increment, Unread]:
    """The same where the states are, without a look at any number: what only the host can tell is left unread."""
    contexts, skipped = captured.contexts, plan.skipped
    norms, attention_norms = all_norms(captured.residual), all_norms(captured.attention)
    kept = kept_tokens(massive(norm_ratios(norms[:, :, skipped:], first.medians, first_kept=not skipped)), plan)
    places = drawn_places(tuple(contexts), len(plan.positions), skipped, plan.sample)
    sample = Sample((), drawn_states(tuple(site[:, skipped:] for site in captured.residual), places))
    residual = batch_of(captured.residual, norms, kept, contexts, plan, scatter=True, frame=first.frame)
    attention = None
    if captured.attention:
        products = plan.scatter == "attention"
        attention = batch_of(captured.attention, attention_norms, kept, contexts, plan, scatter=products)
    return Increment(residual, attention, Outliers((), ()), sample, captured.heads), Unread(contexts, norms)


def batch_of(
    states: tuple[Float[Tensor, "context position d_model"], ...],
    norms: Float[Tensor, "site context position"],
    kept: Bool[Tensor, "context kept_position"],
    contexts: range,
    plan: Plan,
    *,
    scatter: bool,
    frame: Frame | None = None,
) -> Batch:
    """The states of one kind of site as accumulators take them: position 0 apart, left-out tokens blanked in place."""
    rows = slice(contexts.start, contexts.stop)
    return Batch(
        states=blanked(tuple(site[:, plan.skipped :] for site in states), kept),
        norms=norms[:, :, plan.skipped :],
        kept=kept,
        contexts=tuple(contexts),
        groups=tuple(plan.groups[rows].tolist()),
        shifts=tuple(plan.shifts[rows].tolist()),
        scatter=scatter,
        frame=frame,
        first=torch.stack([site[:, 0] for site in states]) if plan.skipped else None,
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
        f"expected finite hidden states, got NaN or infinity in layer {layer} at window {contexts[row]}, position "
        f"{column} (token id {int(plan.tokens[contexts[row], column])}): try --dtype float32, or check the model's "
        f"weights"
    )

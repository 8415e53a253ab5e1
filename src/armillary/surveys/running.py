"""Running the model: batches go through it two at a time, and come out in their order."""

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.attention.reading import HeadReading, reading_heads
from armillary.models.states import Reading, reading
from armillary.models.view import View
from armillary.surveys.plan import Plan
from armillary.surveys.sums.heads import Heads

AT_ONCE = 2
"""How many batches are in the model at a time, each on its share of the cores: a product that one core makes alone
waits for no other, and one batch is summed while another runs."""


@dataclass(frozen=True)
class Captured:
    """The raw states of one batch, before the outlier rule is known."""

    contexts: range
    residual: tuple[Float[Tensor, "context position d_model"], ...]
    attention: tuple[Float[Tensor, "context position d_model"], ...]
    heads: Heads | None = None


def captured(
    view: View, plan: Plan, batches: Iterable[range], split: tuple[int, int] | None = None
) -> Generator[Captured]:
    """The states of every batch, in order; at most one more than runs is held, so that no core waits for its turn.

    `split` is how many batches run at a time and on how many cores each, where `shared_out` is not to say so.
    Close it (`contextlib.closing`) when it is left early: hooks stay on the model until then.
    """
    at_once, share = split or shared_out(view.device, known=view.family is not None)
    asked = reading_heads(view, skipped=plan.skipped, drop=plan.outliers == "drop") if plan.heads else nullcontext()
    with (
        reading(view, attention=plan.sites == "all") as read,
        asked as heads,
        cores(share),
        ThreadPoolExecutor(at_once, "armillary-model", torch.set_num_threads, (share,)) as crew,
    ):
        inside: deque[Future[Captured]] = deque()
        try:
            for rows in batches:
                inside.append(crew.submit(captured_batch, view, plan, rows, read, heads))
                if len(inside) > at_once:
                    yield inside.popleft().result()
            while inside:
                yield inside.popleft().result()
        finally:
            crew.shutdown(cancel_futures=True)


def shared_out(device: torch.device, *, known: bool) -> tuple[int, int]:
    """How many batches run at a time, and on how many cores each; beside a GPU the cores are free for the sums.

    A model of unknown family may keep something between calls that two at a time would mix up.
    """
    threads = torch.get_num_threads()
    if not known:
        return 1, threads
    if device.type != "cpu":
        return AT_ONCE, threads
    at_once = min(AT_ONCE, threads)
    return at_once, threads // at_once


@contextmanager
def cores(share: int) -> Iterator[None]:
    """torch on `share` cores in this thread, while this lasts."""
    before = torch.get_num_threads()
    torch.set_num_threads(share)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@torch.inference_mode()
def captured_batch(view: View, plan: Plan, rows: range, read: Reading, heads: HeadReading | None = None) -> Captured:
    """The states of one batch. Attention inputs that are the residual stream itself are not read twice."""
    if heads is not None:
        heads.ranked = tuple(row for row, context in enumerate(rows) if context in plan.ranked)
    view.run(plan.tokens[rows.start : rows.stop])
    residual, attention = read.take(view.n_blocks)
    if all(mine.data_ptr() == theirs.data_ptr() for mine, theirs in zip(attention, residual, strict=False)):
        attention = []
    groups = tuple(int(group) for group in plan.groups[rows.start : rows.stop])
    seen = Heads.of(heads.take(view.n_blocks), groups) if heads is not None else None
    return Captured(rows, tuple(map(on_host, residual)), tuple(map(on_host, attention)), seen)


def on_host(states: Tensor) -> Tensor:
    """States where sums are made; half precision is widened, float32 and float64 stay what they are."""
    return states.to("cpu", torch.float32 if states.dtype in (torch.float16, torch.bfloat16) else states.dtype)

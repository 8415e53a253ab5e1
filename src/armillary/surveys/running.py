"""Running the model: batches go through it two at a time, and come out in their order."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from threading import local
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from armillary.attention.reading import HeadReading, reading_heads
from armillary.models.attention import AttentionCall, attention_calls
from armillary.models.states import Reading, reading
from armillary.models.view import View
from armillary.surveys.devices import moved, summing_device
from armillary.surveys.plan import Plan
from armillary.surveys.sums.batch import HOST
from armillary.surveys.sums.heads import Heads
from armillary.system.mappings import Lender

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
    split = split or shared_out(view.device, known=view.family is not None)
    at = summing_device(view, plan)
    lender = Lender(split[0] + 1) if at == HOST else None
    asked = reading_heads(view, skipped=plan.skipped, drop=plan.outliers == "drop") if plan.heads else nullcontext()
    with (
        reading(view, attention=plan.sites == "all") as read,
        asked as heads,
        model_threads(view, split) as crew,
    ):
        inside: deque[Future[Captured]] = deque()
        try:
            for rows in batches:
                inside.append(crew.submit(captured_batch, view, plan, rows, at, read, heads, lender))
                if len(inside) > split[0]:
                    yield inside.popleft().result()
            while inside:
                yield inside.popleft().result()
        finally:
            crew.shutdown(cancel_futures=True)


@contextmanager
def model_threads(view: View, split: tuple[int, int] | None = None) -> Iterator[ThreadPoolExecutor]:
    """Threads that run the model, each on its share of the cores, as is this thread while they last.

    A product that is shared out among cores waits for the slowest of them, which on a busy machine may be long.
    """
    at_once, share = split or shared_out(view.device, known=view.family is not None)
    with cores(share), ThreadPoolExecutor(at_once, "armillary-model", torch.set_num_threads, (share,)) as crew:
        yield crew


def read_calls(view: View, batches: Sequence[Any], receive: Callable[[int, AttentionCall], None]) -> None:
    """Batches of token ids through the model, two at a time; `receive` gets each attention call and its batch's number.

    It is called from several threads, for one batch always from the same.
    """
    here = local()

    def run(number: int) -> None:
        here.number = number
        view.run(batches[number])

    with attention_calls(view, lambda call: receive(here.number, call)), model_threads(view) as crew:
        list(crew.map(run, range(len(batches))))


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
def captured_batch(
    view: View,
    plan: Plan,
    rows: range,
    at: torch.device,
    read: Reading,
    heads: HeadReading | None = None,
    lender: Lender | None = None,
) -> Captured:
    """The states of one batch. Attention inputs that are the residual stream itself are not read twice."""
    if heads is not None:
        heads.ranked = tuple(row for row, context in enumerate(rows) if context in plan.ranked)
    sites = view.n_blocks + 1 + (view.n_blocks if plan.sites == "all" else 0)
    read.keep = partial(summable, at=at) if lender is None else Copies(lender, sites)
    view.run(plan.tokens[rows.start : rows.stop])
    residual, attention = read.take(view.n_blocks)
    if all(mine is theirs for mine, theirs in zip(attention, residual, strict=False)):
        attention = []
    groups = tuple(int(group) for group in plan.groups[rows.start : rows.stop])
    seen = moved(Heads.of(heads.take(view.n_blocks), groups), at) if heads is not None else None
    return Captured(rows, tuple(residual), tuple(attention), seen)


class Copies:
    """Copies of the states of one batch in memory that is lent: the model's own is free for its next block."""

    def __init__(self, lender: Lender, sites: int) -> None:
        self.lender, self.sites, self.count = lender, sites, 0
        self.room: Tensor | None = None

    def __call__(self, states: Tensor) -> Tensor:
        """The states at one more site."""
        if self.room is None:
            dtype = summed_as(states.dtype)
            lent = self.lender.lend(self.sites * states.numel() * dtype.itemsize)
            self.room = torch.from_numpy(lent).view(dtype).view(self.sites, *states.shape)
        self.count += 1
        return self.room[self.count - 1].copy_(states)


def summable(states: Tensor, at: torch.device) -> Tensor:
    """States where sums are made, as numbers that can be summed."""
    return states.to(at, summed_as(states.dtype))


def summed_as(dtype: torch.dtype) -> torch.dtype:
    """Half precision is widened, float32 and float64 stay what they are."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype

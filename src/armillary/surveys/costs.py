"""What a survey will cost, from a short calibration: time, memory, disk and network, here and with many workers."""

import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from armillary.corpora import Windows, corpus
from armillary.corpora.sources import ReadyWindows
from armillary.corpora.tokens import token_text
from armillary.models.view import View
from armillary.surveys.memory import needed
from armillary.surveys.plan import Plan, shard_windows
from armillary.surveys.preparing import Prepared, plan_of, prepared, reads_attention, shape_of
from armillary.surveys.running import captured
from armillary.surveys.sending import received, sent
from armillary.surveys.settings import Settings
from armillary.surveys.shard import first_pilot, shard_state
from armillary.surveys.stopping import position_errors, windows_for
from armillary.surveys.sums.state import State
from armillary.surveys.survey import finished_groups, measure_and_write, provenance, tabulated

GROUPS = 16
"""Groups of documents that a long survey has."""


@dataclass(frozen=True)
class Rates:
    """What was measured: seconds per token of the forward pass and of the sums, per shard of merging and of sending a
    state, once of tables, measures and files; bytes of a state and of the files; the largest SE of the position share.
    """

    windows: int
    forward: float
    sums: float
    merging: float
    sending: float
    after: float
    state_bytes: int
    file_bytes: int
    se: float


@dataclass(frozen=True)
class Cost:
    """What a survey will take: seconds in all, and of its pass; bytes of memory beyond the model, of a worker with its
    model, of disk, and over the network; the SE to expect, and the windows that a wanted one needs.
    """

    contexts: int
    length: int
    shards: int
    workers: int
    seconds: float
    seconds_pass: float
    memory: int
    memory_model: int
    memory_worker: int
    disk: int
    network: int
    se: float
    windows_for_se: int | None
    rates: Rates


def cost_of(view: View, source: Any, chosen: Settings, *, workers: int) -> Cost:
    """The cost of a survey with these settings, here with one worker and otherwise with workers like this machine."""
    rates = calibrated(view, source, chosen)
    plan = plan_like(chosen)
    shards, tokens = len(plan.shards), plan.tokens.size
    alone = workers == 1
    work = tokens * (rates.forward + rates.sums)
    meeting = shards * (rates.merging + (0 if alone else rates.sending))
    # Alone, shards are merged between their turns; with workers while others run, and the longer of both counts.
    running = work + meeting if alone else max(work / shards * -(-shards // workers), meeting)
    memory, _ = needed(plan, shape_of(view, plan), chosen.max_memory)
    model = sum(parameter.nbytes for parameter in view.model.parameters())
    return Cost(
        contexts=len(plan.tokens),
        length=chosen.length,
        shards=shards,
        workers=workers,
        seconds=running + rates.after,
        seconds_pass=running,
        memory=memory,
        memory_model=model,
        memory_worker=model + 2 * rates.state_bytes,
        disk=disk_of(rates, view, plan),
        network=0 if alone else shards * rates.state_bytes,
        se=rates.se * float(np.sqrt(rates.windows / len(plan.tokens))),
        windows_for_se=windows_for(chosen.until_se, rates.se, rates.windows)
        if chosen.until_se and np.isfinite(rates.se)
        else None,
        rates=rates,
    )


def plan_like(chosen: Settings) -> Plan:
    """A plan of the size that is asked for, with no text in it."""
    count = chosen.windows
    groups = np.arange(count) * min(GROUPS, count) // count
    tokens = np.broadcast_to(np.zeros((), dtype=np.int64), (count, chosen.length))
    drawn = Windows(tokens, groups, groups, documents=(), too_short=(), provenance={})
    return plan_of(drawn, groups, chosen)


def disk_of(rates: Rates, view: View, plan: Plan) -> int:
    """The size of the files: what was written, and a vector per further window and site."""
    further = max(0, len(plan.tokens) - rates.windows)
    return rates.file_bytes + further * (8 * shape_of(view, plan).sites * view.d_model + 4 * plan.tokens.shape[1])


@torch.inference_mode()
def calibrated(view: View, source: Any, chosen: Settings) -> Rates:
    """A small survey of two shards, each of its steps timed; nothing of it stays."""
    windows = min(chosen.windows, max(32, 2 * shard_windows(chosen.length, chosen.shard_tokens)))
    small = replace(chosen, contexts=windows, max_tokens=None, until_se=None, engine="local", workers=None, shard=None)
    survey = prepared(view, few(source, windows), small)
    plan, tokens = survey.plan, survey.plan.tokens.size
    pilot = first_pilot(view, plan)
    forward, _ = timed(lambda: drain(view, plan))
    running, states = timed(lambda: [state_of(view, plan, pilot, number) for number in range(len(plan.shards))])
    first, *others = states
    parcel = sent(first)
    # Copied into the object store by the worker, out of it by the driver.
    sending, _ = timed(lambda: received(sent(received(parcel))))
    merging, state = timed(lambda: merged(first, others))
    se = float(position_errors(state, plan).max())
    with tempfile.TemporaryDirectory() as folder:
        after, _ = timed(lambda: finish(view, survey, state, pilot, Path(folder)))
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    return Rates(
        windows=len(plan.tokens),
        forward=forward / tokens,
        sums=max(0.0, running - forward) / tokens,
        merging=merging / max(1, len(others)),
        sending=sending,
        after=after,
        state_bytes=sum(array.nbytes for array in parcel[1].values()),
        file_bytes=size,
        se=se,
    )


def few(source: Any, windows: int) -> Any:
    """A text as it is; of ready windows, which are read all or not at all, some, evenly spread."""
    text = source if hasattr(source, "name") and not isinstance(source, str | Path) else corpus(source)
    if not isinstance(text, ReadyWindows):
        return text
    rows = np.linspace(0, len(text.tokens) - 1, min(windows, len(text.tokens))).round().astype(np.int64)
    return replace(text, tokens=text.tokens[rows], documents=tuple(text.documents[row] for row in rows))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """How many seconds some work takes, and what it gives."""
    began = time.perf_counter()
    done = work()
    return time.perf_counter() - began, done


def drain(view: View, plan: Plan) -> None:
    """The forward pass alone, states read and let go."""
    with closing(captured(view, plan, [rows for shard in plan.shards for rows in plan.batches(shard)])) as read:
        for _ in read:
            pass


def state_of(view: View, plan: Plan, pilot: Any, number: int) -> State:
    """The state of one shard."""
    with closing(captured(view, plan, plan.batches(plan.shards[number]))) as read:
        return shard_state(read, plan, pilot, lambda windows: None)[0]


def merged(first: State, others: list[State]) -> State:
    """All states in one."""
    for other in others:
        first = first.merge(other)
    return first


def finish(view: View, survey: Prepared, state: State, pilot: Any, folder: Path) -> None:
    """Tables, measures and files, as at the end of a survey."""
    groups = tabulated(state, pilot, survey, attention=reads_attention(view, survey.plan), folder=folder)
    text = partial(token_text, view.tokenizer)
    groups = finished_groups(groups, survey.windows, survey.plan, text)
    measure_and_write(folder, groups, provenance(view.provenance, survey))

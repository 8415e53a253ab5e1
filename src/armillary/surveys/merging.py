"""Parts of one survey become one run: the states of all shards, merged in their order, as a single pass would."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import xarray as xr

from armillary.errors import StoreError
from armillary.results.store import Run
from armillary.surveys.checkpoint import Checkpoint
from armillary.surveys.memory import give_back
from armillary.surveys.parts import PILOT, Part, part_at
from armillary.surveys.pilot import Pilot
from armillary.surveys.preparing import Prepared
from armillary.surveys.sending import ROUNDING, agrees, received, same_bits
from armillary.surveys.shard import Report
from armillary.surveys.sums.shelf import Damaged
from armillary.surveys.sums.state import State
from armillary.surveys.survey import finished_groups, made, provenance, tabulated
from armillary.surveys.total import Total
from armillary.system.progress import progress as progress_bar
from armillary.system.progress import say


def merged_parts(folders: Sequence[Path], *, folder: Path, progress: bool) -> Run:
    """The run of all parts, in a folder of its own."""
    parts = all_parts([part_at(place) for place in folders])
    survey = parts[0].survey()
    return made(lambda checkpoint: merged_groups(parts, survey, checkpoint, progress), survey, folder, resume=False)


def all_parts(parts: list[Part]) -> list[Part]:
    """The parts in their order; refuses parts of different surveys, parts given twice, and a set that lacks one."""
    if not parts:
        raise StoreError("expected folders of the parts of a survey, got none: give those of survey --shard i/N")
    first = parts[0]
    for other in parts[1:]:
        if other.about["fingerprint"] != first.about["fingerprint"] or other.parts != first.parts:
            raise StoreError(
                f"expected parts of one survey, got another model, text, settings or number of parts in {other.folder} "
                f"than in {first.folder}: run them with the same arguments but for --shard"
            )
    held: dict[int, Part] = {}
    for part in parts:
        if part.number in held:
            raise StoreError(
                f"expected each part once, got part {part.number}/{part.parts} in {held[part.number].folder} and in "
                f"{part.folder}: give one of them"
            )
        held[part.number] = part
    missing = [f"{number}/{first.parts}" for number in range(1, first.parts + 1) if number not in held]
    if missing:
        raise StoreError(
            f"expected all {first.parts} parts of the survey, got all but {', '.join(missing)}: run "
            f"{'it' if len(missing) == 1 else 'them'} with --shard, and give all folders"
        )
    return [held[number] for number in sorted(held)]


def merged_groups(
    parts: list[Part], survey: Prepared, checkpoint: Checkpoint | None, progress: bool
) -> tuple[dict[str, xr.Dataset], dict[str, Any]]:
    """All that measures are made from, and what the run says about its making."""
    folder = checkpoint.folder.parent if checkpoint else None
    try:
        with progress_bar("merging", *survey.plan.tokens.shape, show=progress) as advance:
            state, first = merged_state(parts, survey, checkpoint, advance)
        groups = tabulated(state, first, survey, attention=parts[0].about["attention"], folder=folder)
    except Damaged as error:
        raise StoreError(f"cannot read back sums of the parts ({error}): check the disk, then merge again") from error
    del state
    texts: dict[str, str] = {token: text for part in parts for token, text in part.about["texts"].items()}
    groups = finished_groups(groups, survey.windows, survey.plan, lambda token: texts[str(token)])
    return groups, provenance(parts[0].about["model"], survey)


@torch.inference_mode()
def merged_state(
    parts: list[Part], survey: Prepared, checkpoint: Checkpoint | None, advance: Report
) -> tuple[State, Pilot]:
    """The state of all shards and the pilot; one shard's is in memory at a time beside the total."""
    pilots = [part.parcel(PILOT) for part in parts]
    if not all(agrees(pilots[0], pilot, ROUNDING) for pilot in pilots):
        raise StoreError("expected parts by the same model, got first windows that differ: run the parts again")
    if not all(same_bits(pilots[0], pilot) for pilot in pilots):
        say("warning: the processors of the parts round otherwise: results agree with one pass, but not to the bit")
    total, first = Total(survey.plan, checkpoint, rest=survey.rest), received(pilots[0])
    for part in parts:
        for number in part.shards:
            total.add(received(part.parcel(number)), first)
            advance(len(survey.plan.shards[number]))
            give_back()
    return total.taken()

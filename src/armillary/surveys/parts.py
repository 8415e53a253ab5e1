"""One part of a survey, run by itself where a scheduler starts many processes: its shards' states, on disk.

States are not merged here: sums meet in the order of all shards, so that parts merged later give the bits of one pass.
"""

import json
import zlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from armillary.corpora import Windows
from armillary.corpora.tokens import token_text
from armillary.errors import RequestError, StoreError, reason
from armillary.models.view import View
from armillary.results import store
from armillary.results.store import Run
from armillary.surveys.checkpoint import signed, signed_text
from armillary.surveys.memory import give_back
from armillary.surveys.preparing import Prepared, plan_of, reads_attention
from armillary.surveys.running import captured
from armillary.surveys.sending import Sent, received, sent
from armillary.surveys.settings import Settings, part_of
from armillary.surveys.shard import Report, first_pilot, shard_state
from armillary.surveys.sums.state import State
from armillary.system.files import replacing, sweep, write_text
from armillary.system.locking import alone

FOLDER, ABOUT, WINDOWS, PILOT = "part", "part.json", "windows.safetensors", "pilot.safetensors"


def survey_part(view: View, survey: Prepared, folder: Path | None, report: Report, *, resume: bool) -> Run:
    """Run the shards of one part; what is done already is not run again. The file that says so comes last."""
    assert survey.chosen.shard is not None
    part, parts = part_of(survey.chosen.shard)
    if folder is None:
        raise RequestError("expected a folder for a part of a survey, got none: give out")
    numbers = numbers_of(part, parts, len(survey.plan.shards))
    place = folder / FOLDER
    refuse_taken(folder, survey.fingerprint, resume=resume)
    with alone(place, "a survey"):
        sweep(place)
        pilot = first_pilot(view, survey.plan)
        write_parcel(place / PILOT, sent(pilot), survey.fingerprint)
        tokens: set[int] = set()
        for number in numbers:
            file, shard = shard_file(place, number), survey.plan.shards[number]
            state = done(file, survey.fingerprint) if resume else None
            if state is None:
                state = run_shard(view, survey, number, pilot)
                write_parcel(file, sent(state), survey.fingerprint)
            tokens |= {token[2] for token in (*state.outliers.tokens, *state.sample.tokens)}
            del state
            give_back()
            report(len(shard))
        write_about(view, survey, place, sorted(tokens))
    return Run(
        store.tree_of({}, {**view.provenance, **survey.windows.provenance, "shard": survey.chosen.shard}), folder
    )


def numbers_of(part: int, parts: int, shards: int) -> range:
    """The shards of a part: as many as the others have, or one more, one after the other."""
    if parts > shards:
        raise RequestError(
            f"expected at most {shards} parts, one for each shard of this survey, got {parts}: choose fewer, or a "
            f"smaller --shard-tokens"
        )
    return range((part - 1) * shards // parts, part * shards // parts)


def refuse_taken(folder: Path, fingerprint: str, *, resume: bool) -> None:
    """Refuse a folder that holds a run, or a part that is not to be resumed."""
    place = folder / FOLDER
    if (folder / store.STATES).exists() or (place.exists() and not resume):
        raise StoreError(
            f"expected a folder without a run, got {folder}, which holds one or a part of one: add --resume to go on "
            f"with a part, or choose another --out"
        )
    if (place / ABOUT).exists() and about_of(folder)["fingerprint"] != fingerprint:
        raise StoreError(
            f"expected a part of this survey in {folder}, got one of another model, text or settings: give the "
            f"arguments it was started with to resume it, or choose another --out"
        )


@torch.inference_mode()
def run_shard(view: View, survey: Prepared, number: int, pilot: Any) -> State:
    """The state of one shard, all of it in memory."""
    plan = survey.plan
    with closing(captured(view, plan, plan.batches(plan.shards[number]))) as read:
        return shard_state(read, plan, pilot, lambda windows: None)[0]


def done(file: Path, fingerprint: str) -> State | None:
    """The state of a shard that was run before; None where there is none, or it is damaged."""
    try:
        return received(read_parcel(file, fingerprint))
    except (OSError, ValueError):
        return None


def shard_file(place: Path, number: int) -> Path:
    """The file of a shard's state."""
    return place / f"shard-{number:06d}.safetensors"


def write_parcel(path: Path, parcel: Sent, fingerprint: str) -> None:
    """A record taken apart, in a file with the checksum of each of its arrays."""
    structure, arrays = parcel
    checks = {name: checksum(array) for name, array in arrays.items()}
    content = signed(json.dumps({"fingerprint": fingerprint, "structure": structure, "checks": checks}))
    with replacing(path) as fresh:
        save_file(arrays, fresh, {"about": content})


def read_parcel(path: Path, fingerprint: str) -> Sent:
    """The record of a file, every array compared with its checksum; ValueError where it is not what was written."""
    try:
        with safe_open(path, "numpy") as file:
            about = json.loads(signed_text((file.metadata() or {}).get("about", ""), path.name))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)
    except SafetensorError as error:
        raise ValueError(reason(error)) from error
    if about["fingerprint"] != fingerprint:
        raise ValueError("it belongs to another survey")
    if {name: checksum(array) for name, array in arrays.items()} != about["checks"]:
        raise ValueError(f"a checksum of {path.name} differs")
    return about["structure"], arrays


def checksum(array: np.ndarray) -> int:
    """The CRC of the bytes of an array."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data) if array.size else 0


def write_about(view: View, survey: Prepared, place: Path, tokens: Sequence[int]) -> None:
    """What merging needs to know: the windows, the settings, the model in words, the texts of tokens that are named."""
    drawn, plan = survey.windows, survey.plan
    arrays = {"tokens": drawn.tokens, "document": drawn.document, "offset": drawn.offset, "groups": plan.groups}
    write_parcel(place / WINDOWS, (None, arrays), survey.fingerprint)
    about = {
        "fingerprint": survey.fingerprint,
        "shards": len(plan.shards),
        "settings": asdict(survey.chosen),
        "model": view.provenance,
        "name": view.name,
        "windows": drawn.provenance,
        "documents": drawn.documents,
        "too_short": drawn.too_short,
        "grouping": survey.grouping,
        "memory": survey.memory,
        "rest": survey.rest,
        "attention": reads_attention(view, plan),
        "texts": {str(token): token_text(view.tokenizer, token) for token in tokens},
    }
    write_text(place / ABOUT, signed(json.dumps(about, ensure_ascii=True)))


@dataclass(frozen=True)
class Part:
    """A finished part: where it lies, which of how many it is, and what it says about the survey."""

    folder: Path
    number: int
    parts: int
    about: dict[str, Any]

    @property
    def shards(self) -> range:
        """The shards that it holds."""
        return numbers_of(self.number, self.parts, self.about["shards"])

    def parcel(self, name: str | int) -> Sent:
        """One of its files: a shard by its number, the pilot or the windows by name."""
        place = self.folder / FOLDER
        path = shard_file(place, name) if isinstance(name, int) else place / name
        try:
            return read_parcel(path, self.about["fingerprint"])
        except (OSError, ValueError, KeyError) as error:
            raise StoreError(
                f"cannot read {path} ({reason(error)}): run part {self.number}/{self.parts} again with --resume"
            ) from error

    def survey(self) -> Prepared:
        """The survey that this is a part of."""
        about, (_, arrays) = self.about, self.parcel(WINDOWS)
        chosen = Settings.of(**{**about["settings"], "shard": None})
        drawn = Windows(
            tokens=arrays["tokens"],
            document=arrays["document"],
            offset=arrays["offset"],
            documents=tuple(about["documents"]),
            too_short=tuple(about["too_short"]),
            provenance=about["windows"],
        )
        plan = plan_of(drawn, arrays["groups"], chosen)
        return Prepared(chosen, drawn, about["grouping"], plan, about["memory"], about["rest"], about["fingerprint"])


def about_of(folder: Path) -> dict[str, Any]:
    """What a part says about its survey; refuses a folder without a finished part."""
    path = folder / FOLDER / ABOUT
    try:
        about = json.loads(signed_text(path.read_text(encoding="utf-8"), path.name))
    except (OSError, ValueError) as error:
        begun = (folder / FOLDER).exists()
        cure = "its survey was interrupted, resume it with --resume" if begun else "give folders of survey --shard i/N"
        raise StoreError(
            f"expected a finished part of a survey in {folder}, got none ({reason(error)}): {cure}"
        ) from error
    return about


def part_at(folder: Path) -> Part:
    """The part in a folder."""
    about = about_of(folder)
    return Part(folder, *part_of(about["settings"]["shard"]), about)

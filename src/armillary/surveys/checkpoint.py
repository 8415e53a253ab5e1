"""A pass that can be stopped at any moment: after a shard, what changed is written, then one file says so.

Records are frozen, so a tensor that is still the same object has not changed and is not written again. The manifest is
replaced atomically after the data it names, and the one before it stays: whatever a kill leaves behind is either whole
or not named, and what a disk damages its checksum shows. A damaged group of documents runs again; where a sum
over all shards is damaged, the pass goes on from the manifest before.
"""

import hashlib
import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from armillary.errors import StoreError, reason
from armillary.surveys.pilot import Pilot
from armillary.surveys.sums.batch import Large
from armillary.surveys.sums.contexts import Contexts
from armillary.surveys.sums.first import First
from armillary.surveys.sums.frame import Frame
from armillary.surveys.sums.heads import Heads
from armillary.surveys.sums.leading import Leading
from armillary.surveys.sums.moments import Scatter, Spread
from armillary.surveys.sums.norms import Norms
from armillary.surveys.sums.outliers import Outliers
from armillary.surveys.sums.positions import CircularShift, Positions
from armillary.surveys.sums.sample import Sample
from armillary.surveys.sums.shelf import DTYPES, Damaged, Kept, Shelf, named
from armillary.surveys.sums.state import State, Stream
from armillary.system.files import write_text
from armillary.system.progress import say

MANIFEST, BEFORE = "manifest.json", "manifest-before.json"

GROUP = re.compile(r"/state/(?:residual|attention)/positions/sums/(\d+)")
"""The sums of one group: they can be made again from the group's own shards."""

FINAL = re.compile(r"/state/(?:(?:residual|attention)/contexts/sums|sample/states|outliers/ratios)/\d+")
"""What is never added to: it lies apart from what the next checkpoint replaces."""


@dataclass(frozen=True)
class Resumed:
    """A pass that goes on: how many shards are done, the state after them, the pilot, groups that are to run again."""

    shards: int
    state: State
    pilot: Pilot
    damaged: tuple[int, ...] = ()


class Checkpoint:
    """The folder `checkpoint` inside a run that is still being made."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = folder
        self.fingerprint = fingerprint
        self.shelf = Shelf(folder)
        self.written: dict[str, tuple[Large, Kept]] = {}
        self.before: set[str] = set()

    def exists(self) -> bool:
        """Whether a pass was begun here and can be resumed."""
        return any((self.folder / name).exists() for name in (MANIFEST, BEFORE))

    def save(self, shards: int, state: State, pilot: Pilot, finished: set[int]) -> None:
        """Remember the state after this number of shards; nothing is added to groups that are finished."""
        try:
            self._save(shards, state, pilot, finished)
        except (OSError, StoreError) as error:
            why = reason(error.__cause__ or error)
            raise StoreError(
                f"cannot write the checkpoint {self.folder} ({why}): free some space, then add --resume"
            ) from error

    def _save(self, shards: int, state: State, pilot: Pilot, finished: set[int]) -> None:
        tensors: dict[str, Large] = {}
        structure = flattened({"state": state, "pilot": pilot}, "", tensors)
        self.shelf.turn()
        places = {key: self.place(key, tensor, finished) for key, tensor in tensors.items()}
        self.shelf.sync()
        plain = {key: [kept.file, kept.at, kept.dtype, kept.shape, kept.checks] for key, kept in places.items()}
        manifest = {"fingerprint": self.fingerprint, "shards": shards, "structure": structure, "tensors": plain}
        if (self.folder / MANIFEST).exists():
            os.replace(self.folder / MANIFEST, self.folder / BEFORE)
        write_text(self.folder / MANIFEST, signed(json.dumps(manifest)))
        live = {kept.file for kept in places.values()}
        self.written = {key: (tensor, places[key]) for key, tensor in tensors.items()}
        self.shelf.turn()
        self.shelf.sweep(live | self.before)
        self.before = live

    def place(self, key: str, tensor: Large, finished: set[int]) -> Kept:
        """Where a tensor lies; one that changed is written."""
        if isinstance(tensor, Kept):
            return tensor
        known = self.written.get(key)
        if known is not None and known[0] is tensor:
            return known[1]
        group = GROUP.fullmatch(key)
        final = FINAL.fullmatch(key) or (group and int(group[1]) in finished)
        return self.shelf.put(tensor.contiguous(), "finished" if final else "total")

    def sweep(self, live: set[str]) -> None:
        """Remove the files that neither a state nor a manifest needs: a total at rest is written anew every time."""
        self.shelf.sweep(live | self.before | {kept.file for _, kept in self.written.values()})

    def load(self) -> Resumed | None:
        """The newest state that is whole, save groups of documents that can run again; None where none is left."""
        why: list[str] = []
        for name in (MANIFEST, BEFORE):
            if (self.folder / name).exists():
                try:
                    held = self.resumed(self.folder / name)
                except (OSError, ValueError, Damaged) as error:
                    why.append(reason(error))
                    # It must not take the place of the one before when the next one is saved.
                    (self.folder / name).unlink(missing_ok=True)
                    continue
                if why:
                    say(f"warning: the newest checkpoint is damaged ({why[0]}): going on after shard {held.shards}")
                return held
        say(f"warning: the checkpoint in {self.folder} is damaged ({why[0]}): the survey starts from its first window")
        self.remove()
        return None

    def resumed(self, path: Path) -> Resumed:
        """What a manifest names, every tensor compared with its checksum."""
        manifest = checked_manifest(path)
        if manifest["fingerprint"] != self.fingerprint:
            raise StoreError(
                f"expected an unfinished run of this model, text and settings in {self.folder.parent}, got one of "
                f"others: give the arguments it was started with to resume it, or choose another --out"
            )
        places = {key: self.kept(place) for key, place in manifest["tensors"].items()}
        tensors: dict[str, Large] = {}
        damaged: set[int] = set()
        for key, kept in places.items():
            group = GROUP.fullmatch(key)
            try:
                if group is None:
                    tensors[key] = kept.whole()
                else:
                    tensors[key] = kept
                    kept.check()
            except Damaged as error:
                if group is None:
                    raise
                damaged.add(int(group[1]))
                say(f"warning: {error}: group {group[1]} of documents runs again")
        try:
            restored = rebuilt(manifest["structure"], tensors)
            state, first = restored["state"], restored["pilot"]
        except (KeyError, TypeError, AttributeError, StopIteration, RecursionError) as error:
            raise ValueError(f"{path.name} names no state") from error
        if not isinstance(state, State) or not isinstance(first, Pilot):
            raise ValueError(f"{path.name} names no state")
        self.before = {kept.file for kept in places.values()}
        self.written = {key: (tensors[key], kept) for key, kept in places.items()}
        return Resumed(manifest["shards"], state, first, tuple(sorted(damaged)))

    def kept(self, place: Any) -> Kept:
        """Where the manifest says that a tensor lies; refuses what no checkpoint would say."""
        if not (isinstance(place, list) and len(place) == 5):
            raise ValueError("a tensor has no place")
        file, at, dtype, shape, checks = place
        numbers = [at, *shape, *checks] if isinstance(shape, list) and isinstance(checks, list) else [-1]
        whole = all(type(number) is int and 0 <= number < 2**63 for number in numbers)
        if not (whole and isinstance(file, str) and named(file) and dtype in DTYPES and checks):
            raise ValueError("a tensor has no place")
        kept = Kept(self.shelf, file, at, dtype, tuple(shape), tuple(checks))
        if len(checks) not in (1, kept.shape[0] if shape else 1) or at + kept.nbytes > self.shelf.end(file):
            raise ValueError(f"{file} is too short")
        return kept

    def let_go(self) -> None:
        """Hold no tensor any more, so that the state can be taken apart; what is on disk stays."""
        self.written = {}

    def remove(self) -> None:
        """Forget the pass: its results are written."""
        self.shelf.close()
        for name in (MANIFEST, BEFORE, *self.shelf.names()):
            (self.folder / name).unlink(missing_ok=True)

    def leave(self) -> None:
        """Leave what a manifest names and nothing else, however the pass ended."""
        self.shelf.close()
        live: set[str] = set()
        for name in (MANIFEST, BEFORE):
            with suppress(OSError, ValueError):
                live |= {place[0] for place in checked_manifest(self.folder / name)["tensors"].values()}
        self.shelf.sweep(live)


def signed(text: str) -> str:
    """A text after a line with its hash."""
    return f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}"


def signed_text(content: str, name: str) -> str:
    """The text after the line with its hash, if the two belong together."""
    sign, _, text = content.partition("\n")
    if hashlib.sha256(text.encode()).hexdigest() != sign:
        raise ValueError(f"the checksum of {name} differs")
    return text


def checked_manifest(path: Path) -> dict[str, Any]:
    """What a manifest says, if it is what was written."""
    manifest = json.loads(signed_text(path.read_text(encoding="utf-8"), path.name))
    kinds = {"fingerprint": str, "shards": int, "structure": dict, "tensors": dict}
    if not isinstance(manifest, dict) or any(not isinstance(manifest.get(key), kind) for key, kind in kinds.items()):
        raise ValueError(f"{path.name} is not a manifest")
    return manifest


def flattened(value: Any, name: str, tensors: dict[str, Any]) -> Any:
    """Plain JSON for a record, its tensors taken out under the name of their place."""
    if isinstance(value, Tensor | Kept):
        tensors[name] = value
        return {"tensor": name}
    if is_dataclass(value):
        inner = {f.name: flattened(getattr(value, f.name), f"{name}/{f.name}", tensors) for f in fields(value)}
        return {"record": type(value).__name__, "fields": inner}
    if isinstance(value, dict):
        return {"dict": [[key, flattened(item, f"{name}/{key}", tensors)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [flattened(item, f"{name}/{i}", tensors) for i, item in enumerate(value)]}
    return {"plain": value}


def rebuilt(structure: Any, tensors: dict[str, Any]) -> Any:
    """The record that `flattened` took apart."""
    kind, content = next(iter(structure.items()))
    if kind == "tensor":
        return tensors[content]
    if kind == "record":
        inner = {name: rebuilt(value, tensors) for name, value in structure["fields"].items()}
        return RECORDS[content](**inner)
    if kind == "dict":
        return {key: rebuilt(value, tensors) for key, value in content}
    if kind == "tuple":
        return tuple(rebuilt(value, tensors) for value in content)
    return content


SUMS = (Positions, CircularShift, Contexts, Spread, Scatter, Leading, Norms, First, Outliers, Sample, Heads)
RECORDS: dict[str, type] = {record.__name__: record for record in (State, Stream, Pilot, Frame, *SUMS)}

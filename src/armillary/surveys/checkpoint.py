"""A pass that can be stopped at any moment: after each shard, what changed is written, then one file says so.

Records are frozen, so a tensor that is still the same object has not changed and is not written again. The manifest is
replaced atomically after the data it names; whatever a kill leaves behind is either whole or not named.
"""

import json
import shutil
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from armillary.errors import StoreError, reason
from armillary.surveys.pilot import Pilot
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
from armillary.surveys.sums.state import State, Stream
from armillary.system.files import write_text

MANIFEST = "manifest.json"


class Checkpoint:
    """The folder `checkpoint` inside a run that is still being made."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = folder
        self.fingerprint = fingerprint
        self.written: dict[str, tuple[Tensor, dict[str, Any]]] = {}

    def exists(self) -> bool:
        """Whether a pass was begun here and can be resumed."""
        return (self.folder / MANIFEST).exists()

    def save(self, shards: int, state: State, pilot: Pilot) -> None:
        """Remember the state after this number of shards."""
        try:
            self._save(shards, state, pilot)
        except (OSError, StoreError) as error:
            why = reason(error.__cause__ or error)
            raise StoreError(
                f"cannot write the checkpoint {self.folder} ({why}): free some space, then add --resume"
            ) from error

    def _save(self, shards: int, state: State, pilot: Pilot) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        tensors: dict[str, Tensor] = {}
        structure = flattened({"state": state, "pilot": pilot}, "", tensors)
        name = f"shard-{shards:05d}.bin"
        places = self.places(tensors, name)
        manifest = {"fingerprint": self.fingerprint, "shards": shards, "structure": structure, "tensors": places}
        write_text(self.folder / MANIFEST, json.dumps(manifest))
        self.written = {key: (tensor, places[key]) for key, tensor in tensors.items()}
        self.sweep({place["file"] for place in places.values()})

    def places(self, tensors: dict[str, Tensor], name: str) -> dict[str, dict[str, Any]]:
        """Where each tensor lies; those that changed are written to a new file."""
        places: dict[str, dict[str, Any]] = {}
        with open(self.folder / name, "wb") as file:
            for key, tensor in tensors.items():
                known = self.written.get(key)
                if known is not None and known[0] is tensor:
                    places[key] = known[1]
                    continue
                array = tensor.contiguous().numpy()
                places[key] = {"file": name, "at": file.tell(), "dtype": str(array.dtype), "shape": list(array.shape)}
                array.tofile(file)
        return places

    def sweep(self, live: set[str]) -> None:
        """Remove the files that no tensor lies in any more."""
        for path in self.folder.glob("shard-*.bin"):
            if path.name not in live:
                path.unlink()

    def load(self) -> tuple[int, State, Pilot]:
        """How many shards are done, the state after them, and the pilot."""
        try:
            manifest = json.loads((self.folder / MANIFEST).read_text())
            if manifest["fingerprint"] != self.fingerprint:
                raise StoreError(
                    f"expected an unfinished run of this model, text and settings in {self.folder.parent}, got one of "
                    f"others: give the arguments it was started with to resume it, or choose another --out"
                )
            tensors = {key: self.read(place) for key, place in manifest["tensors"].items()}
            restored = rebuilt(manifest["structure"], tensors)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"expected a complete checkpoint in {self.folder}, got one that cannot be read ({error}): remove that "
                f"folder and start again"
            ) from error
        self.written = {key: (tensor, manifest["tensors"][key]) for key, tensor in tensors.items()}
        return manifest["shards"], restored["state"], restored["pilot"]

    def read(self, place: dict[str, Any]) -> Tensor:
        """One tensor, as it was written."""
        count = int(np.prod(place["shape"]))
        array = np.fromfile(self.folder / place["file"], place["dtype"], count, offset=place["at"])
        if array.size != count:
            raise ValueError(f"{place['file']} has {array.size} numbers, not {count}")
        return torch.from_numpy(array.reshape(place["shape"]))

    def let_go(self) -> None:
        """Hold no tensor any more, so that the state can be taken apart; what is on disk stays."""
        self.written = {}

    def remove(self) -> None:
        """Forget the pass: its results are written."""
        shutil.rmtree(self.folder, ignore_errors=True)


def flattened(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """Plain JSON for a record, its tensors taken out under the name of their place."""
    if isinstance(value, Tensor):
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


def rebuilt(structure: Any, tensors: dict[str, Tensor]) -> Any:
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

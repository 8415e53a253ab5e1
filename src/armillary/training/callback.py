"""The geometry of a model at every n-th step of transformers' Trainer, kept beside its checkpoints."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from transformers import TrainerCallback

from armillary.errors import RequestError
from armillary.results.measuring import described
from armillary.results.schema.training import GROUPS, OF_HEADS, OF_LAYERS
from armillary.system.files import write_text
from armillary.system.progress import say
from armillary.training.geometry import Tokens, geometry
from armillary.training.tasks.kinds import WINDOWS

FILE = "geometry.jsonl"
COLLAPSED_ENTROPY = 0.02
"""Relative entropy below which the attention of a head is on one token for nearly every query."""

COLLAPSED_RANK = 0.05
"""‖X − 1x̄ᵀ‖/‖X‖ below which the tokens of a window are nearly one vector."""

SENT = (
    *("frobenius_qk", "eigenvalue_mean_qk", "xi", "eta", "entropy", "signal_propagation"),
    *("rank_stable", "low_frequency_share", "norm", "similarity", "gradient_qk"),
)
"""What reporters are sent, the mean over heads or layers."""


class GeometryCallback(TrainerCallback):
    """Measures the geometry of the model at every n-th step, on fixed windows, and warns when it collapses.

        callback = arm.GeometryCallback(every=100)
        trainer = Trainer(...)
        callback.follow(trainer)

    `tokens` are the windows, [context, position]; without them the first examples of the training data are taken.
    `follow` adds the callback to a Trainer and sends means over heads and layers to its reporters (through
    `trainer.log`); a callback given to the Trainer directly keeps its measurements all the same. They stand in
    `dataset()`, with a `step` axis, and in geometry.jsonl in the Trainer's folder, from where a resumed run reads them.
    With `gradient` the QK gradient (3) of Bao et al. and its three terms are measured as well.
    """

    def __init__(self, every: int = 100, tokens: Tokens | None = None, *, gradient: bool = False) -> None:
        if every < 1:
            raise RequestError(f"expected a number of steps of at least 1, got {every}: choose another")
        self.every, self.tokens, self.gradient = every, tokens, gradient
        self.records: list[dict[str, Any]] = []
        self.warned: set[str] = set()
        self.trainer: Any = None

    def follow(self, trainer: Any) -> "GeometryCallback":
        """Add this callback to a Trainer and send what it measures to the Trainer's reporters."""
        trainer.add_callback(self)
        self.trainer = trainer
        return self

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Read what an interrupted run has measured, and look at the fresh model."""
        path = Path(args.output_dir, FILE)
        before = read_records(path) if state.global_step else []
        self.records = [record for record in before if record["step"] <= state.global_step]
        write_text(path, "".join(map(line_of, self.records)))
        if self.tokens is None:
            self.tokens = first_examples(given["train_dataloader"])
        if state.global_step == 0:
            self._look(args, state, given["model"])

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Look at every n-th step, and at the last."""
        if state.global_step % self.every == 0 or state.global_step == state.max_steps:
            self._look(args, state, given["model"])

    def dataset(self) -> xr.Dataset:
        """All that was measured, along `step`: of heads and of layers."""
        return xr.merge(self.groups().values(), combine_attrs="drop")

    def groups(self) -> dict[str, xr.Dataset]:
        """The same as the groups of a run: heads and layers apart."""
        if not self.records:
            raise RequestError("expected a training that has begun, got no measurement yet: train first")
        steps, found = [record["step"] for record in self.records], {}
        for group in (OF_HEADS, OF_LAYERS):
            values = {
                name: (row.axes, np.array([record[name] for record in self.records], dtype=np.float64))
                for name, row in GROUPS[group].variables.items()
                if all(name in record for record in self.records)
            }
            found[group] = described(group, xr.Dataset(values, coords={"step": steps}))
        return found

    def _look(self, args: Any, state: Any, model: Any) -> None:
        assert self.tokens is not None
        found = geometry(model, self.tokens, gradient=self.gradient)
        record = {"step": state.global_step, **{str(name): found[name].values.tolist() for name in found.data_vars}}
        self.records.append(record)
        with Path(args.output_dir, FILE).open("a", encoding="utf-8") as file:
            file.write(line_of(record))
        for line in collapses(found):
            if line not in self.warned:
                self.warned.add(line)
                say(f"warning: step {state.global_step}: {line}")
        if self.trainer is not None:
            asked = self.trainer.control.should_log  # which logging answers: the loss of this step would be lost
            self.trainer.log({f"geometry_{name}": float(np.nanmean(found[name].values)) for name in sent(found)})
            self.trainer.control.should_log = asked


def sent(found: xr.Dataset) -> list[str]:
    """What there is to send: some are NaN in all heads, some were not asked for."""
    return [name for name in SENT if name in found and np.isfinite(found[name].values).any()]


def collapses(found: xr.Dataset) -> list[str]:
    """A sentence for attention that has collapsed onto single tokens, and one for tokens that are one vector."""
    lines = []
    low = found.entropy_relative.values < COLLAPSED_ENTROPY
    if low.any():
        block, head = np.argwhere(low)[0]
        lines.append(f"entropy collapse: head {head} of block {block} attends to one token for nearly every query")
    alike = found.collapse.values < COLLAPSED_RANK
    if alike.any():
        lines.append(f"rank collapse: the tokens of a window are nearly one vector in layer {int(alike.argmax())}")
    return lines


def first_examples(loader: Any) -> Tokens:
    """The first windows of the training data that are as long as the first, without drawing from its sampler."""
    examples = [np.asarray(loader.dataset[number]["input_ids"]) for number in range(min(WINDOWS, len(loader.dataset)))]
    return np.stack([each for each in examples if len(each) == len(examples[0])])


def line_of(record: dict[str, Any]) -> str:
    """One measurement as a line."""
    return json.dumps(record) + "\n"


def read_records(path: Path) -> list[dict[str, Any]]:
    """The measurements of a file; a last line that was cut by a stop is left out."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            break
    return found

"""The loop: transformers' Trainer on a task, with checkpoints that are whole, a bar, and a stop where a loss runs away.

Whatever is random follows from the seed and the number of the step, so that a run that was killed and resumed has the
losses of one that was not.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback

from armillary.errors import RequestError
from armillary.models.sources.quiet import quiet
from armillary.system.files import write_text
from armillary.system.progress import Latest, progress_of
from armillary.training.callback import GeometryCallback
from armillary.training.settings import TrainingSettings
from armillary.training.tasks.kinds import Task
from armillary.training.trainer import LocaterTrainer

CHECKPOINTS = "checkpoints"
WHOLE = "whole"
"""Written into a checkpoint last: one without it was cut by a stop."""

RUNAWAY, RECENT = 2.0, 20
"""A mean loss of the last steps above this many times the first loss has diverged."""

SCHEDULES = {
    "cosine": ("cosine_with_min_lr", {"min_lr_rate": 0.1}),
    "linear": ("linear", {}),
    "constant": ("constant_with_warmup", {}),
}
"""What transformers calls each schedule of the learning rate."""


class Loop(LocaterTrainer):
    """A Trainer whose validation is the task's own, and that stops where the loss runs away."""

    def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.task = task
        self.losses: list[float] = []

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """The task's validation of the model, logged."""
        training = self.model.training
        self.model.eval()
        found = self.task.judged(self.model)
        self.model.train(training)
        self.log(dict(found))
        handler: Any = self.callback_handler
        self.control: Any = handler.on_evaluate(self.args, self.state, self.control, found)
        return found

    def training_step(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """One batch; refused where its loss is no number, or where losses have grown far beyond the first."""
        found = super().training_step(*args, **kwargs)
        self.losses.append(float(found))
        if not np.isfinite(self.losses[-1]):
            self._stop(f"a finite loss, got {self.losses[-1]}")
        first = self.losses[0]
        recent = float(np.mean(self.losses[-RECENT:]))
        if len(self.losses) > RECENT and first > 0 and recent > RUNAWAY * first:
            self._stop(f"a loss below {RUNAWAY:g} times the first, {first:.3g}, got {recent:.3g}")
        return found

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Save a state whose weights are numbers, and mark it when it is whole."""
        if not all(bool(torch.isfinite(weight).all()) for weight in self.model.parameters()):
            self._stop("finite weights, got some that are not")
        super()._save_checkpoint(model, trial)
        write_text(Path(self.args.output_dir, f"checkpoint-{self.state.global_step}", WHOLE), "")

    def _stop(self, expected: str) -> None:
        last = last_checkpoint(Path(self.args.output_dir))
        kept = f"the last good checkpoint is {last}" if last else "there is no checkpoint before it"
        raise RequestError(
            f"expected {expected} at step {self.state.global_step + 1}: {kept}; train anew with a lower --learning-rate"
        )


class Bar(TrainerCallback):
    """Tells a progress bar of every step, and of the last loss."""

    def __init__(self, advance: Callable[[int], None], latest: Latest) -> None:
        self.advance, self.latest = advance, latest

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """What was done before a stop counts."""
        self.advance(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """One step further."""
        self.advance(1)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """The latest losses."""
        words = {"loss": "training loss", "eval_loss": "validation loss"}
        for key, word in words.items():
            if key in (logs or {}):
                self.latest.text = f"{word} {logs[key]:.3f}"


def trained(
    model: Any, task: Task, settings: TrainingSettings, folder: Path, *, resume: bool, progress: bool
) -> tuple[list[dict[str, Any]], GeometryCallback | None]:
    """Train a model in place; what was logged, step by step, and its geometry. Checkpoints go to a folder of their own.

    With `resume` the last whole checkpoint is read first.
    """
    checkpoints = folder / CHECKPOINTS
    last = last_checkpoint(checkpoints) if resume else None
    if resume:
        drop_cut(checkpoints)
    with quiet():
        trainer = Loop(
            model=model,
            args=arguments(settings, checkpoints, begun=last is not None),
            train_dataset=task.examples,
            eval_dataset=task.examples,
            task=task,
            kappa_scale=settings.kappa_scale,
            kappa_trace=settings.kappa_trace,
        )
        trainer.remove_callback(PrinterCallback)
        geometry = None
        if settings.geometry_every:
            geometry = GeometryCallback(settings.geometry_every, task.fixed, gradient=settings.gradient).follow(trainer)
        latest = Latest()
        with progress_of("training", settings.steps, latest, show=progress) as advance:
            trainer.add_callback(Bar(advance, latest))
            trainer.train(resume_from_checkpoint=None if last is None else str(last))
    return trainer.state.log_history, geometry


def arguments(settings: TrainingSettings, checkpoints: Path, *, begun: bool) -> TrainingArguments:
    """What transformers calls these settings."""
    kind, options = SCHEDULES[settings.schedule]
    return TrainingArguments(
        output_dir=str(checkpoints),
        max_steps=settings.steps,
        per_device_train_batch_size=settings.batch,
        gradient_accumulation_steps=settings.accumulation,
        learning_rate=settings.learning_rate,
        lr_scheduler_type=kind,
        lr_scheduler_kwargs=options,
        warmup_steps=settings.warmup,
        weight_decay=settings.weight_decay,
        adam_beta2=settings.beta2,
        max_grad_norm=settings.clip,
        logging_steps=settings.log_every,
        logging_nan_inf_filter=False,
        eval_strategy="steps",
        eval_steps=settings.validate_every,
        eval_on_start=not begun,
        save_strategy="steps",
        save_steps=settings.save_every,
        save_total_limit=2,
        bf16=settings.precision == "bfloat16",
        train_sampling_strategy="sequential",
        seed=settings.seed,
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        use_cpu=not torch.cuda.is_available(),
    )


def last_checkpoint(checkpoints: Path) -> Path | None:
    """The latest checkpoint that is whole."""
    marked = [path.parent for path in checkpoints.glob(f"checkpoint-*/{WHOLE}")]
    return max(marked, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def drop_cut(checkpoints: Path) -> None:
    """Remove checkpoints that a stop has cut."""
    for path in checkpoints.glob("checkpoint-*"):
        if not (path / WHOLE).exists():
            shutil.rmtree(path, ignore_errors=True)

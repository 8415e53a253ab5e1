"""Make a run by training a small model, and keep the model in it."""

import json
import shutil
from pathlib import Path
from typing import Any

from armillary.errors import RequestError, StoreError
from armillary.models.sources.quiet import quiet
from armillary.results.schema.training import TRAINING
from armillary.results.store import Run
from armillary.runs.survey import with_settings
from armillary.runs.writing import refuse_taken, written
from armillary.system.files import write_text
from armillary.training.curves import curves
from armillary.training.loop import CHECKPOINTS, trained
from armillary.training.presets import QUICK, settings_of
from armillary.training.settings import ADDITION, TrainingSettings
from armillary.training.shapes import fresh_model
from armillary.training.tasks.addition import addition_task
from armillary.training.tasks.kinds import Task
from armillary.training.tasks.text import text_task

MODEL, SETTINGS, HELDOUT = "model", "settings.json", "heldout.jsonl"
"""What stands in the folder of a run beside its results: the model, its settings, texts that it never saw."""


@with_settings(TrainingSettings)
def train(
    name: str,
    *,
    out: str | Path,
    preset: str = QUICK,
    resume: bool = False,
    progress: bool = True,
    report: bool = True,
    **settings: Any,
) -> Run:
    """Train a small model by name: shakespeare-chars, addition, addition-rotary or locater.

    `preset` is quick (minutes on two cores) or paper (the document's settings); settings that are given take the place
    of the preset's. The folder `out` gets the run, with its page unless `report` is False, and in `model` the trained
    model with its tokenizer, an ordinary folder of transformers that `load` reads. heldout.jsonl holds texts that it
    never saw. A run that was stopped resumes from its last checkpoint with `resume`. `progress` shows the steps.
    """
    chosen, folder = settings_of(name, preset, **settings), Path(out)
    refuse_folder(folder, chosen, resume=resume)
    task = task_of(chosen)
    padding = task.tokenizer.pad_token_id
    model = fresh_model(chosen, len(task.tokenizer), task.length, padding)
    write_text(folder / SETTINGS, json.dumps(chosen.as_plain(), indent=1))
    log, geometry = trained(model, task, chosen, folder, resume=resume, progress=progress)
    save(model.eval(), task, folder)
    groups = {TRAINING: curves(log, chosen, task.about)}
    if geometry is not None:
        groups |= geometry.groups()
    about = {
        "model": str(folder / MODEL),
        "model_kind": "trained here",
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "trained": name,
        "preset": preset,
        **{name: value for name, value in chosen.as_plain().items() if name != "corpus"},
        **task.about,
    }
    run = written(groups, about, out=folder, report=report)
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    return run


def task_of(settings: TrainingSettings) -> Task:
    """What is learnt."""
    return addition_task(settings) if settings.task == ADDITION else text_task(settings)


def refuse_folder(folder: Path, settings: TrainingSettings, *, resume: bool) -> None:
    """Refuse a folder that holds a finished run, an interrupted one that is not resumed, or one of other settings."""
    refuse_taken(folder)
    begun = (folder / SETTINGS).exists()
    if begun and not resume:
        raise StoreError(
            f"expected a folder without a run, got {folder}, which holds an interrupted training: resume it with "
            "--resume, or choose another --out"
        )
    if resume and not begun:
        raise StoreError(f"expected an interrupted training in {folder}, got none: train without --resume")
    if begun:
        before = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        before = TrainingSettings().as_plain() | before  # a setting that is newer than the run had its default
        unlike = [key for key, value in settings.as_plain().items() if before[key] != value]
        if unlike:
            key = unlike[0]
            raise RequestError(
                f"expected the settings of the interrupted training, {key} {before[key]!r}, got "
                f"{settings.as_plain()[key]!r}: give the same, or choose another --out"
            )


def save(model: Any, task: Task, folder: Path) -> None:
    """The model with its tokenizer, and what was kept from it, one text a line."""
    with quiet():
        model.save_pretrained(folder / MODEL)
        task.tokenizer.save_pretrained(folder / MODEL)
    write_text(folder / HELDOUT, "".join(json.dumps({"text": text}) + "\n" for text in task.heldout()))

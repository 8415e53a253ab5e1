"""What a Trainer logged, as labelled results."""

from typing import Any

import numpy as np
import xarray as xr

from armillary.measures.errors.shares import share_interval
from armillary.results.measuring import described
from armillary.results.schema.training import TRAINING
from armillary.training.settings import ADDITION, TrainingSettings
from armillary.training.tasks.kinds import GROUPS

LOGGED = {
    "loss": "loss",
    "penalty": "penalty",
    "learning_rate": "learning_rate",
    "gradient_norm": "grad_norm",
    "loss_validation": "eval_loss",
    "loss_validation_se": "eval_loss_se",
}
"""What the log calls each curve."""


def curves(log: list[dict[str, Any]], settings: TrainingSettings, about: dict[str, Any]) -> xr.Dataset:
    """Losses and accuracies by step; NaN at steps that have none."""
    wanted = {*LOGGED.values(), *(f"eval_accuracy_{digits}" for digits in range(1, settings.longest + 1))}
    rows = [record for record in log if wanted & set(record)]
    steps = sorted({record["step"] for record in rows})
    place = {step: index for index, step in enumerate(steps)}

    def along(key: str) -> np.ndarray:
        values = np.full(len(steps), np.nan)
        for record in rows:
            if key in record:
                values[place[record["step"]]] = float(record[key])
        return values

    found: dict[str, Any] = {name: ("step", along(key)) for name, key in LOGGED.items()}
    if not np.isfinite(found["penalty"][1]).any():
        del found["penalty"]
    if "bigram_entropy" in about:
        found["bigram_entropy"] = ((), float(about["bigram_entropy"]))
    coordinates: dict[str, Any] = {"step": steps}
    if settings.task == ADDITION:
        digits = list(range(1, settings.longest + 1))
        coordinates["digits"] = digits
        found |= accuracies(np.stack([along(f"eval_accuracy_{each}") for each in digits], axis=1), digits, about)
        found["trained"] = ("digits", [settings.digits_from <= each <= settings.digits_to for each in digits])
    return described(TRAINING, xr.Dataset(found, coords=coordinates).assign_attrs(groups=GROUPS))


def accuracies(values: np.ndarray, digits: list[int], about: dict[str, Any]) -> dict[str, Any]:
    """Exact matches with their intervals, and how many problems each rests on."""
    problems = [int(about[f"problems_{each}"]) for each in digits]
    ends = np.full((*values.shape, 2), np.nan)
    for step, column in np.argwhere(np.isfinite(values)):
        ends[step, column] = share_interval(round(values[step, column] * problems[column]), problems[column])
    return {
        "accuracy": (("step", "digits"), values),
        "accuracy_low": (("step", "digits"), ends[..., 0]),
        "accuracy_high": (("step", "digits"), ends[..., 1]),
        "problems": ("digits", problems),
    }

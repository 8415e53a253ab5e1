"""What can be trained by name: each with quick settings for two cores, and those of the document it comes from."""

from typing import Any, NamedTuple

from armillary.errors import RequestError, did_you_mean
from armillary.training.settings import ADDITION, TrainingSettings

QUICK, PAPER = "quick", "paper"
SIZES = (QUICK, PAPER)


class Preset(NamedTuple):
    """What is trained, in a line, and where its settings differ from the defaults: quick, and as in the document."""

    about: str
    quick: dict[str, Any]
    paper: dict[str, Any]


_SUMS = {"task": ADDITION, "schedule": "linear", "clip": 1.0}
_SUMS_QUICK = {**_SUMS, "layers": 2, "steps": 1500, "digits_from": 2, "digits_to": 4, "tested_to": 5}
_SUMS_QUICK |= {"answers": "reversed", "sparse": 0.5}
_SUMS_PAPER = {
    **_SUMS,
    "width": 256,
    "batch": 64,
    "steps": 10_000,
    "learning_rate": 1e-4,
    "digits_from": 5,
    "digits_to": 10,
    "problems": 1000,
    "validate_every": 1000,
}
_LOCATER = {"shape": "post-norm", "layers": 1, "heads": 1, "tokens": "bpe", "schedule": "constant", "warmup": 0}
_LOCATER |= {"beta2": 0.999, "weight_decay": 0.01, "clip": 0.0, "kappa_scale": 100.0, "kappa_trace": 1.0}

PRESETS: dict[str, Preset] = {
    "shakespeare-chars": Preset(
        "Learn a text letter by letter. After Song and Zhong, appendix A.2, with learned positions.",
        {"batch": 12, "steps": 2000},
        {"layers": 6, "heads": 6, "width": 384, "context": 128, "dropout": 0.1, "steps": 5000},
    ),
    "addition": Preset(
        "Learn to add numbers. After Song and Zhong, sections 4.3 and D.3, with learned positions.",
        _SUMS_QUICK,
        _SUMS_PAPER,
    ),
    "addition-rotary": Preset(
        "Learn to add numbers, with rotary positions. After Song and Zhong, section D.3.",
        {**_SUMS_QUICK, "shape": "rotary", "steps": 3000},
        {**_SUMS_PAPER, "shape": "rotary"},
    ),
    "locater": Preset(
        "Learn a text with the LocAteR penalty. After Bao, Hataya and Karakida, section 7: one Post-LN head.",
        {**_LOCATER, "width": 64, "mlp": 64, "context": 32, "batch": 32, "vocabulary": 512, "steps": 600},
        {
            **_LOCATER,
            "corpus": "wikitext2",
            "mlp": 128,
            "vocabulary": 8000,
            "dropout": 0.1,
            "steps": 50_000,
            "learning_rate": 2.5e-5,
            "log_every": 100,
            "validate_every": 1000,
            "save_every": 1000,
        },
    ),
}
"""Every preset by name, in the order in which they are listed."""


def settings_of(name: str, preset: str = QUICK, **given: Any) -> TrainingSettings:
    """The settings of a preset, with what is given in the place of its own."""
    if name not in PRESETS:
        raise RequestError(f"expected something to train, got {name!r}: {did_you_mean(name, PRESETS)}")
    if preset not in SIZES:
        raise RequestError(f"expected the preset {' or '.join(SIZES)}, got {preset!r}: choose one of these")
    return TrainingSettings.of(getattr(PRESETS[name], preset), **given)

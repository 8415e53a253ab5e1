"""The settings of a training run: each is written once, with its default, its help text and its choices.

The flags of `armillary train`, the keys of its config file and the keywords of `armillary.train` are made from the
fields of `TrainingSettings`. Presets say where they differ from its defaults. Nothing here needs torch.
"""

import math
from dataclasses import asdict, dataclass, field, fields, make_dataclass
from typing import Any

from armillary.errors import Number, RequestError, did_you_mean
from armillary.surveys.settings import setting

TEXT, ADDITION = "text", "addition"


@dataclass(frozen=True)
class TrainingSettings:
    """What is trained, on what, and how."""

    task: str = setting(TEXT, "What is learnt: a text, or addition.", TEXT, ADDITION)
    corpus: str = setting("python-docs", "Text to learn: as for a survey.")
    tokens: str = setting("characters", "Tokens of a text: its characters, or a small BPE.", "characters", "bpe")
    vocabulary: int = setting(1000, "Tokens of the BPE.")
    heldout: float = setting(0.1, "Share of the text, its end, that is kept for validation.")
    digits_from: int = setting(2, "Addition: digits of the shortest numbers.")
    digits_to: int = setting(4, "Addition: digits of the longest numbers.")
    tested_to: int = setting(0, "Addition: digits of the longest numbers tested; 0: the longest trained.")
    problems: int = setting(500, "Addition: problems tested for each number of digits.")
    sparse: float = setting(0.0, "Addition: share of the problems learnt whose digits are half zeros.")
    answers: str = setting("plain", "Addition: answers as written, or units first.", "plain", "reversed")
    shape: str = setting("learned", "Architecture, by its positions and norms.", "learned", "rotary", "post-norm")
    layers: int = setting(4, "Blocks.")
    heads: int = setting(4, "Attention heads of a block.")
    width: int = setting(128, "Coordinates of the hidden states.")
    mlp: int = setting(0, "Width inside the MLP; 0: four times the width, 8/3 for a gated one.")
    context: int = setting(64, "Tokens of a window of text.")
    dropout: float = setting(0.0, "Dropout.")
    steps: int = setting(2000, "Updates of the weights.")
    batch: int = setting(64, "Windows or problems of a batch.")
    accumulation: int = setting(1, "Batches whose gradients are added up for one update.")
    learning_rate: float = setting(1e-3, "Largest learning rate.")
    schedule: str = setting(
        "cosine", "How the learning rate falls: to a tenth, to 0, not at all.", "cosine", "linear", "constant"
    )
    warmup: int = setting(100, "Updates until the largest learning rate is reached.")
    weight_decay: float = setting(0.1, "Weight decay of AdamW.")
    beta2: float = setting(0.99, "Second decay rate of AdamW; the first is 0.9.")
    clip: float = setting(1.0, "Largest norm of a gradient; 0: not clipped.")
    precision: str = setting("float32", "Numbers inside matrix products while training.", "float32", "bfloat16")
    kappa_scale: float = setting(0.0, "LocAteR: strength κ₁ of tr(W_QKᵀ W_QK).")
    kappa_trace: float = setting(0.0, "LocAteR: strength κ₂ of (tr W_QK − 1)².")
    seed: int = setting(0, "Random seed.")
    log_every: int = setting(20, "Updates over which a training loss is averaged.")
    validate_every: int = setting(200, "Updates between two validations.")
    save_every: int = setting(200, "Updates between two checkpoints.")
    geometry_every: int = setting(100, "Updates between two looks at the geometry; 0: none.")
    gradient: bool = setting(False, "Look at the QK gradient (3) of Bao et al. and its three terms too.")

    @classmethod
    def of(cls, preset: dict[str, Any], **given: Any) -> "TrainingSettings":
        """The settings of a preset with what is given in its place, refusing names and values that do not exist."""
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                raise RequestError(f"expected a setting of a training run, got {name!r}: {did_you_mean(name, known)}")
        settings = cls(**(preset | {name: as_field(cls, name, value) for name, value in given.items()}))
        settings.check()
        return settings

    def check(self) -> None:
        """Refuse values that are not among the choices, and numbers that mean nothing."""
        for each in fields(self):
            value, choices = getattr(self, each.name), each.metadata["choices"]
            if choices and value not in choices:
                meant = did_you_mean(str(value), choices)
                raise RequestError(f"expected a value that {each.name} takes, got {value!r}: {meant}")
        for name, low in LEAST.items():
            refuse_below(name, getattr(self, name), low)
        if not 0 < self.heldout < 1:
            raise RequestError(f"expected heldout between 0 and 1, got {self.heldout}: choose a share such as 0.1")
        if not 0 <= self.sparse <= 1:
            raise RequestError(f"expected sparse from 0 to 1, got {self.sparse}: choose a share such as 0.5")
        if not 0 <= self.dropout < 1:
            raise RequestError(f"expected dropout from 0 to below 1, got {self.dropout}: choose another")
        if not 0 <= self.beta2 < 1:
            raise RequestError(f"expected beta2 from 0 to below 1, got {self.beta2}: choose another")
        if self.width % self.heads:
            raise RequestError(f"expected a width that {self.heads} heads divide, got {self.width}: choose another")
        if self.shape == "rotary" and self.width // self.heads % 2:
            raise RequestError(
                f"expected heads of an even width for rotary positions, got {self.width // self.heads}: choose another"
            )
        self._check_digits()
        if self.gradient and not self.geometry_every:
            raise RequestError("expected looks at the geometry for gradient, got geometry_every 0: choose another")
        for name in ("validate_every", "save_every"):
            if getattr(self, name) % self.log_every:
                raise RequestError(
                    f"expected {name} as a multiple of log_every, {self.log_every}, got {getattr(self, name)}: "
                    "choose another"
                )

    def _check_digits(self) -> None:
        if self.digits_from > self.digits_to:
            raise RequestError(
                f"expected digits_from of at most digits_to, got {self.digits_from} and {self.digits_to}: swap them"
            )
        if self.longest > MOST_DIGITS:
            raise RequestError(f"expected at most {MOST_DIGITS} digits, got {self.longest}: choose fewer")
        if self.tested_to and self.tested_to < self.digits_to:
            raise RequestError(
                f"expected tested_to of at least digits_to, {self.digits_to}, got {self.tested_to}: choose 0 or more"
            )

    @property
    def longest(self) -> int:
        """Addition: digits of the longest numbers of all, trained or tested."""
        return self.tested_to or self.digits_to

    def as_plain(self) -> dict[str, Any]:
        """Every setting by name."""
        return asdict(self)


MOST_DIGITS = 17
"""Sums of longer numbers do not fit 64 bits."""

LEAST: dict[str, Number] = {
    **dict.fromkeys(("layers", "heads", "width", "steps", "batch", "accumulation", "problems"), 1),
    **dict.fromkeys(("digits_from", "log_every", "validate_every", "save_every"), 1),
    **dict.fromkeys(("mlp", "warmup", "weight_decay", "clip", "seed", "tested_to", "geometry_every"), 0),
    **dict.fromkeys(("learning_rate", "kappa_scale", "kappa_trace"), 0),
    "context": 2,
    "vocabulary": 2,
}
"""The least value of each number."""


def refuse_below(name: str, value: Number, low: Number) -> None:
    """Refuse a number that is too small, infinite or none."""
    if not math.isfinite(value) or value < low:
        raise RequestError(f"expected {name} as a finite number of at least {low:g}, got {value!r}: choose another")


def as_field(record: type, name: str, value: Any) -> Any:
    """A whole number given for one that need not be whole, as the field has it; anything else as it is."""
    kinds = {each.name: each.type for each in fields(record)}
    return float(value) if kinds[name] is float and isinstance(value, int) else value


SWEPT = ("kappa_scale", "kappa_trace", "seed")
"""What a sweep goes through."""


def overrides(*without: str) -> Any:
    """A record of the same fields but some, each None until it is given: flags whose defaults are the preset's."""
    own: list[Any] = [each for each in fields(TrainingSettings) if each.name not in without]
    rows = [(each.name, each.type | None, field(default=None, metadata=each.metadata)) for each in own]
    return make_dataclass("Overrides", rows, frozen=True)


Overrides, SweepOverrides = overrides(), overrides(*SWEPT)


def given(record: Any) -> dict[str, Any]:
    """The fields that were given."""
    return {name: value for name, value in asdict(record).items() if value is not None}

"""The settings of a survey: each is written once, with its default, its help text and its choices.

The flags of `armillary survey`, the keys of its config file and the keywords of `armillary.survey` are made from the
fields of `Settings`: a new field is all that a new setting needs.
"""

import inspect
import re
from dataclasses import Field, dataclass, field, fields
from typing import Any

from armillary.errors import RequestError, did_you_mean

ENGINES = ("local", "ray")
"""Who can run the shards of a survey: `surveys/engines` has a file for each."""


def setting(default: Any, help: str, *choices: str) -> Any:
    """A field of a record of settings: its default, what it is for, and the words it takes where these are few."""
    return field(default=default, metadata={"help": help, "choices": choices})


@dataclass(frozen=True)
class Settings:
    """How a survey reads and sums; every field is a keyword of `survey`, a flag and a key of the config file."""

    contexts: int = setting(64, "Number of windows to read.")
    length: int = setting(128, "Tokens per window, including BOS or CLS.")
    seed: int = setting(0, "Random seed.")
    first: str = setting("drop", "Leave out position 0, or keep it.", "drop", "keep")
    outliers: str = setting("drop", "Leave out tokens of massive norm, or keep them.", "drop", "keep")
    bos: str = setting("auto", "BOS or CLS: as the tokenizer does, always, or never.", "auto", "always", "never")
    crossing: bool = setting(False, "Let windows cross the ends of documents.")
    documents: int | None = setting(None, "Balanced sample: read only this number of documents, the longest.")
    per_document: int | None = setting(None, "Balanced sample: windows per document.")
    sites: str = setting("all", "Hidden states and the attentions' inputs, or hidden states alone.", "all", "residual")
    covariance: str = setting("residual", "Where covariances are kept.", "residual", "attention")
    batch: int | None = setting(None, "Windows per batch; two batches run at a time.")
    heads: bool = setting(False, "Measure attention heads as well.")
    max_memory: float | None = setting(None, "Gigabytes a survey may take beyond the model; else it is refused.")
    max_tokens: int | None = setting(None, "Read no more tokens than this, whatever --contexts says.")
    until_se: float | None = setting(
        None, "Stop once no layer's position share has a larger SE, as a share: 0.001 is 0.1 %; --contexts at most."
    )
    engine: str = setting("local", "Who runs the shards: this process, or the workers of a Ray cluster.", *ENGINES)
    workers: int | None = setting(None, "Workers of --engine ray. Without it, as many as the cluster has room for.")
    shard: str | None = setting(None, "Run part i of N alone, as in 2/8; `armillary merge` joins the parts.")
    shard_tokens: int | None = setting(
        None, "Tokens per shard, 4096 without it; wide models on many machines want more."
    )

    @property
    def windows(self) -> int:
        """How many windows are read at most."""
        return self.contexts if self.max_tokens is None else min(self.contexts, self.max_tokens // self.length)

    @classmethod
    def of(cls, **given: Any) -> "Settings":
        """Settings from keywords, refusing names and values that do not exist."""
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                raise RequestError(f"expected a setting of a survey, got {name!r}: {did_you_mean(name, known)}")
        settings = cls(**given)
        settings.check()
        return settings

    def check(self) -> None:
        """Refuse values that are not among the choices, and numbers that are too small."""
        for each in fields(self):
            value, choices = getattr(self, each.name), each.metadata["choices"]
            if choices and value not in choices:
                flag, meant = f"--{each.name.replace('_', '-')}", did_you_mean(str(value), choices)
                raise RequestError(f"expected {' or '.join(choices)} for {flag}, got {value!r}: {meant}")
        least = {"length": 3 if self.first == "drop" else 2, "batch": 1, "workers": 1, "shard_tokens": 1}
        least["max_tokens"] = self.length
        for name, low in least.items():
            value = getattr(self, name)
            if value is not None and value < low:
                raise RequestError(f"expected {name} of at least {low}, got {value}: choose a larger one")
        if self.max_memory is not None and not self.max_memory > 0:
            raise RequestError(f"expected max_memory above 0, got {self.max_memory:g}: give gigabytes")
        if self.until_se is not None and not 0 < self.until_se < 1:
            raise RequestError(
                f"expected until_se between 0 and 1, got {self.until_se:g}: it is a share, 0.001 is 0.1 %"
            )
        if (self.documents is None) != (self.per_document is None):
            alone = "--documents" if self.per_document is None else "--per-document"
            raise RequestError(f"expected --documents with --per-document, got {alone} alone: give both or neither")
        self.check_parts()
        if self.sites == "residual" and self.covariance == "attention":
            raise RequestError("expected sites=all with covariance=attention, got sites=residual: use sites=all")

    def check_parts(self) -> None:
        """Refuse what cannot be combined where several processes share the work."""
        if self.workers is not None and self.engine == "local":
            raise RequestError("expected engine=ray with workers, got engine=local: use engine=ray, or omit workers")
        if self.shard is not None:
            part_of(self.shard)
            if self.engine != "local":
                raise RequestError(f"expected engine=local with shard, got engine={self.engine}: give one of them")
            if self.until_se is not None:
                raise RequestError(
                    "expected one process that sees all windows with until_se, got a shard: omit until_se, or shard"
                )


def part_of(shard: str) -> tuple[int, int]:
    """Which part of how many a survey is, from "2/8"."""
    numbers = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", shard)
    part, parts = (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
    if not 1 <= part <= parts:
        raise RequestError(f"expected shard as i/N with i from 1 to N, got {shard!r}: the first of four is 1/4")
    return part, parts


def documented(thing: Any, record: type) -> str:
    """The docstring of a function or class, with a line per setting of a record: name, meaning, choices, default."""
    lines = (f"    {each.name}: {each.metadata['help']} {default_of(each)}" for each in fields(record))
    return "\n".join([f"{inspect.getdoc(thing)}\n\nSettings:", *lines, ""])


def default_of(each: Field[Any]) -> str:
    """The choices and the default of a setting, in brackets."""
    choices = "|".join(each.metadata["choices"])
    return f"[{choices + '; ' if choices else ''}default: {each.default}]"


Settings.__doc__ = documented(Settings, Settings)

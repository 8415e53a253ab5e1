"""What a survey can be told: the flags of the command, the keys of the config file, the keywords of the function."""

import difflib
from dataclasses import dataclass, fields
from typing import Any

from armillary.errors import RequestError

CHOICES = {
    "first": ("drop", "keep"),
    "outliers": ("drop", "keep"),
    "bos": ("auto", "always", "never"),
    "sites": ("all", "residual"),
    "covariance": ("residual", "attention"),
}


@dataclass(frozen=True)
class Settings:
    """How a survey reads and sums. Every field is a flag, a key of the config file, and a keyword of `survey`."""

    contexts: int = 64
    length: int = 128
    seed: int = 0
    first: str = "drop"
    outliers: str = "drop"
    bos: str = "auto"
    crossing: bool = False
    documents: int | None = None
    per_document: int | None = None
    sites: str = "all"
    covariance: str = "residual"
    batch: int | None = None
    heads: bool = False

    @classmethod
    def of(cls, **given: Any) -> "Settings":
        """Settings from keywords, refusing names and values that do not exist."""
        known = {field.name for field in fields(cls)}
        for name in given.keys() - known:
            near = difflib.get_close_matches(name, known, 1)
            raise RequestError(
                f"unknown setting {name!r}: " + (f"did you mean {near[0]!r}?" if near else f"known are {sorted(known)}")
            )
        settings = cls(**given)
        settings.check()
        return settings

    def check(self) -> None:
        """Refuse values that are not among the choices."""
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise RequestError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
        if self.batch is not None and self.batch < 1:
            raise RequestError(f"batch must be at least 1, not {self.batch}")
        if self.length < (3 if self.first == "drop" else 2):
            raise RequestError(f"length must be at least {3 if self.first == 'drop' else 2}, not {self.length}")
        if self.sites == "residual" and self.covariance == "attention":
            raise RequestError("covariance=attention needs the attention's inputs: use sites=all")

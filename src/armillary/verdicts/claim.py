"""A claim: one statement of a document, the check that runs, and the verdict that its numbers allow."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

EXACT = "holds exactly"
ASYMPTOTIC = "holds asymptotically"
APPROXIMATE = "holds approximately"
FALSE = "false as published"
VACUOUS = "vacuous"
UNCHECKED = "not checkable here"
ABSENT = "not so in this model"
BROKEN = "correction fails"

VERDICTS = {
    EXACT: "an identity to rounding, or a simulation within five standard errors",
    ASYMPTOTIC: "the error vanishes in the limit that the statement names, at a measured rate",
    APPROXIMATE: "not exact; the measured error and where it was measured stand beside it",
    FALSE: "more than five standard errors off, or an exact counterexample; the correction passes the same check",
    VACUOUS: "true of anything: it says nothing about its subject",
    ABSENT: "found in other trained models, and not in that of the run",
    UNCHECKED: "needs weights, data or a run that is not here; the reason says which",
    BROKEN: "neither the published nor the corrected statement passes: an error of Armillary, never expected",
}
"""The words of a verdict, and what each of them means."""


class Document(NamedTuple):
    """One of the four documents: who wrote it and when, and its title."""

    authors: str
    title: str


DOCUMENTS = {
    "BAO": Document(
        "Bao, Hataya & Karakida (2024)", "Self-attention networks localize when QK-eigenspectrum concentrates"
    ),
    "SZ": Document(
        "Song & Zhong (2024)", "Uncovering hidden geometry in transformers via disentangling position and context"
    ),
    "TW": Document("a summary of arXiv:2309.07315", "Traveling words: a geometric interpretation of transformers"),
    "WE": Document(
        "Wertich (2024)", "Hidden structures of attention layers through the lens of Gaussian distributions"
    ),
}
"""The documents by the letters that begin the ids of their claims."""

NONE = float("nan")

ROOM = "armillary.verdicts."


class Finding(NamedTuple):
    """What a check found: the verdict, the three numbers it rests on, the standard error, a few words of its own."""

    verdict: str
    published: float = NONE
    corrected: float = NONE
    measured: float = NONE
    se: float = NONE
    note: str = ""


class Verdict(NamedTuple):
    """One row of the answer: the statement as published, the verdict, its numbers, and why.

    `quantity` says what the numbers are, `place` where in the document the statement stands. NaN: no such number.
    """

    id: str
    document: str
    statement: str
    verdict: str
    published: float
    corrected: float
    measured: float
    se: float
    why: str
    quantity: str
    place: str


@dataclass(frozen=True)
class Claim:
    """One statement: where it stands, as published, corrected, why, and the check.

    `quantity` says what the numbers of the check are. `check` draws from a generator; `answer` reads the results of a
    run, which must hold `needs` (paths group/variable). A claim without either says in `reason` what is lacking.
    `rests_on` names the claims whose results it uses.
    """

    id: str
    place: str
    statement: str
    correction: str
    reason: str
    quantity: str = ""
    rests_on: tuple[str, ...] = ()
    check: Callable[[np.random.Generator], Finding] | None = None
    answer: Callable[[xr.DataTree], Finding] | None = None
    needs: tuple[str, ...] = ()

    @property
    def document(self) -> str:
        """The letters of its document."""
        return self.id.partition("-")[0]

    @property
    def runnable(self) -> bool:
        """Whether it is checked without a run."""
        return self.check is not None

    @property
    def uses(self) -> tuple[str, ...]:
        """The measures that its check calls, itself or through others of its room: localization.walk.moments."""
        asked = self.check or self.answer
        return () if asked is None else tuple(sorted(measures_behind(asked)))


def measures_behind(function: Any) -> set[str]:
    """The names of the measures that a function of this room calls, those of functions that it calls counted."""
    plain = inspect.unwrap(function)  # while tests run, every function is wrapped in a check of its shapes
    found = [plain.__globals__.get(name) for name in names_in(plain.__code__)]
    own = [each for each in found if inspect.isfunction(each) and each.__module__.startswith(ROOM)]
    called = {measure_name(each) for each in found if measure_name(each)}
    return called.union(*(measures_behind(each) for each in own if inspect.unwrap(each) is not plain))


def names_in(code: Any) -> set[str]:
    """The global names that a function uses, those of functions inside it counted."""
    inner = [const for const in code.co_consts if inspect.iscode(const)]
    return set(code.co_names).union(*(names_in(each) for each in inner))


def measure_name(value: Any) -> str:
    """The name of a measure below `measures`; empty for anything else."""
    home, prefix = str(getattr(value, "__module__", "")), "armillary.measures."
    return f"{home.removeprefix(prefix)}.{value.__name__}" if home.startswith(prefix) and callable(value) else ""


def claim(
    id: str, place: str, statement: str, correction: str, reason: str, rests_on: tuple[str, ...] = ()
) -> Callable[[Callable[[np.random.Generator], Finding]], Claim]:
    """Make a claim of a check that needs nothing but random numbers; its docstring says what its numbers are."""

    def made(check: Callable[[np.random.Generator], Finding]) -> Claim:
        return Claim(id, place, statement, correction, reason, in_words(check), rests_on, check=check)

    return made


def of_model(
    id: str, place: str, statement: str, reason: str, needs: tuple[str, ...]
) -> Callable[[Callable[[xr.DataTree], Finding]], Claim]:
    """Make a claim of an answer that the results of a run give; it speaks of that run's model alone."""

    def made(answer: Callable[[xr.DataTree], Finding]) -> Claim:
        return Claim(id, place, statement, "", reason, in_words(answer), answer=answer, needs=needs)

    return made


def in_words(check: Callable[..., Finding]) -> str:
    """The docstring of a check in one line, without its full stop."""
    return " ".join((check.__doc__ or "").split()).rstrip(".")


def unchecked(id: str, place: str, statement: str, why: str) -> Claim:
    """A claim that nothing here can decide, and why."""
    return Claim(id, place, statement, "", why)


def claims_among(names: Mapping[str, Any]) -> tuple[Claim, ...]:
    """The claims of a file, in their order: give it globals()."""
    return tuple(value for value in names.values() if isinstance(value, Claim))

"""The first screen of a report: seven questions, and what a run says to them with number, error and null."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Bool

from armillary.figures import Figure, available
from armillary.figures.kit.words import quoted, span
from armillary.figures.states.outliers import outliers_finding
from armillary.measures.errors.jackknife import half_width
from armillary.measures.taxonomy import GENERAL, SPECIAL
from armillary.reporting.kinds import Answer
from armillary.results.reading import LEVEL, array, draws, has, numbers

DOES = {
    "induction": "look at what followed a token the last time",
    "duplicate": "look at the last time of the same token",
    "previous": "look at the token before",
    "sink": "park on the first token",
    "local": "stay within 4 tokens",
}
"""What a head of each kind does."""

MASSES = {"mass_first": "the first token", "mass_previous": "the token before", "mass_self": "the token itself"}
"""Where heads look on text, where they have no names yet."""


class Question(NamedTuple):
    """A question, the figures that may answer it, best first, and how; None: by the figure's own finding."""

    text: str
    figures: tuple[str, ...]
    tell: Callable[[xr.DataTree], str | None] | None = None


def answers(results: xr.DataTree) -> list[Answer]:
    """What the run says to each question; a question that it holds nothing for is left out."""
    offered = {figure.name: figure for figure in available(results)}
    found = (answer(question, offered, results) for question in QUESTIONS)
    return [one for one in found if one is not None]


def answer(question: Question, offered: dict[str, Figure], results: xr.DataTree) -> Answer | None:
    """The answer in the question's own words or in those of its first figure that the run offers."""
    figure = next((offered[name] for name in question.figures if name in offered), None)
    if figure is None and question.tell is heads:
        figure = next((one for one in offered.values() if one.section == "heads"), None)
    told = question.tell(results) if question.tell else figure.finding(results) if figure else None
    return Answer(question.text, told, figure.name if figure else None) if told else None


def context(results: xr.DataTree) -> str | None:
    """The share of context, beside what chance gives; there is no error for it."""
    if not has(results, "variance/share"):
        return None
    share = numbers(results, "variance/share", component=1)
    told = f"Context is {span(share, '%')} of the variance of the states, over the layers, by the plain formula"
    if not has(results, "variance/share_floor"):
        return f"{told}; what chance gives is not determined"
    floor = numbers(results, "variance/share_floor", component=1)
    return f"{told}, which has no error; chance alone gives {span(floor, '%')}"


def massive(results: xr.DataTree) -> str | None:
    """How many tokens, how long, which, and where in the window they stand."""
    if not all(has(results, f"outliers/{name}") for name in ("ratio", "text", "position", "context")):
        return None
    told, where = outliers_finding(results), array(results, "outliers/position").values
    if not where.size:
        return told
    low, high = int(where.min()), int(where.max())
    fate = {"drop": " They are left out of all sums", "keep": " They are kept in all sums"}
    place = f"at position {low}" if low == high else f"at positions {low} to {high}"
    return f"{told}; {place}." + fate.get(str(results.attrs.get("outliers")), "")


def heads(results: xr.DataTree) -> str | None:
    """How many heads have which name, the clearest of each with its error; without names, where heads look."""
    if has(results, "taxonomy/kind"):
        return named_heads(results)
    held = [name for name in MASSES if has(results, f"heads/{name}")]
    told = ", ".join(f"to {MASSES[name]} ({most(results, f'heads/{name}')})" for name in held)
    return (
        f"Attention goes {told}; heads have no names yet, `armillary heads` gives them and writes this page anew"
        if told
        else None
    )


def named_heads(results: xr.DataTree) -> str:
    """How many heads have each name, the clearest of each, and what the random twin reaches in the same scores."""
    kind = array(results, "taxonomy/kind").values.astype(str)
    told, nulls = [], []
    for name in (*SPECIAL, *GENERAL):
        count = int((kind == name).sum())
        if count:
            told.append(f"{done_by(count, DOES[name])} ({most(results, f'taxonomy/{name}', kind == name)})")
            nulls.append(float(numbers(results, f"taxonomy/{name}_null")))
    rest = int(np.isin(kind, ["", "uniform"]).sum())
    twin = f". In the random twin no head exceeds {span(np.array(nulls), '%')}" if nulls else ""
    return f"Of {kind.size} heads " + ", ".join([*told, f"{rest} {'does' if rest == 1 else 'do'} none of this"]) + twin


def done_by(count: int, what: str) -> str:
    """What so many heads do: 3 park on the first token, 1 parks on the first token."""
    verb, _, rest = what.partition(" ")
    return f"{count} {verb}{'s' if count == 1 else ''} {rest}"


def most(results: xr.DataTree, path: str, among: Bool[np.ndarray, "block head"] | None = None) -> str:
    """The head with the highest share of attention, with the margin that holds for all heads at once."""
    value = numbers(results, path)
    chosen = np.where(np.isfinite(value) & (True if among is None else among), value, -np.inf)
    block, head = np.unravel_index(int(chosen.argmax()), value.shape)
    margin = np.nan
    if has(results, f"{path}_se"):
        width = half_width(draws(results, path), 1 - (1 - LEVEL) / value.size)
        margin = width * float(numbers(results, f"{path}_se")[block, head])
    return f"L{block}H{head} most: {quoted(float(value[block, head]), float(margin), '%')}"


QUESTIONS = (
    Question("How much is position?", ("position-share", "variance-shares")),
    Question("How much is context?", ("variance-shares",), context),
    Question("Is the position basis low-rank?", ("position-stable-rank", "position-rank", "position-spectrum")),
    Question("Is it smooth?", ("low-frequency-share", "position-frequencies")),
    Question("Are position and context orthogonal?", ("incoherence", "position-gram")),
    Question("Where do massive activations sit?", ("outlier-tokens",), massive),
    Question("Which heads do what?", (), heads),
)

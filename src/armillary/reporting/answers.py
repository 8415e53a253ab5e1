"""The first screen of a report: a few questions, and what a run says to them with number, error and null."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Bool

from armillary.figures.kit.words import quoted, span
from armillary.figures.states.outliers import outliers_finding
from armillary.measures.errors.jackknife import half_width
from armillary.reporting.kinds import Answer, Plot
from armillary.results.reading import LEVEL, array, draws, has, label_of, numbers
from armillary.results.schema import GROUPS
from armillary.results.schema.naming import KINDS
from armillary.results.store_answers import store_answers
from armillary.results.weight_answers import weight_answers

ON_TEXT = ("heads/mass_first", "heads/mass_previous", "heads/mass_self")
"""Where heads attend on text, for runs whose heads have no kinds yet."""


class Question(NamedTuple):
    """A question, the figures that may answer it, best first, and how; None: by the figure's own finding."""

    text: str
    figures: tuple[str, ...]
    tell: Callable[[xr.DataTree], str | None] | None = None


def answers(results: xr.DataTree, plots: Sequence[Plot]) -> list[Answer]:
    """What the run says to each question; a question that it holds nothing for is left out."""
    offered = {plot.name: plot for plot in plots}
    given = (answer(question, offered, results) for question in QUESTIONS)
    return [one for one in given if one is not None]


def answer(question: Question, offered: dict[str, Plot], results: xr.DataTree) -> Answer | None:
    """The answer in the question's own words or in those of its first figure that the run offers."""
    plot = next((offered[name] for name in question.figures if name in offered), None)
    if plot is None:
        return None
    drawn = plot.figure is not None
    text = question.tell(results) if question.tell and drawn else plot.finding
    return Answer(question.text, text, plot.name) if text else None


def context(results: xr.DataTree) -> str:
    """The share of context beside its noise floor; it has no standard error."""
    shares = numbers(results, "variance/share", component=1)
    if not np.isfinite(shares).any():
        return "The context share is not estimable: this run cannot separate position and context"
    share = span(shares, "%")
    sentence = f"Context explains {share} of variance over the layers (plug-in, no interval)"
    if not has(results, "variance/share_floor"):
        return sentence
    return f"{sentence}; noise floor {span(numbers(results, 'variance/share_floor', component=1), '%')}"


def massive(results: xr.DataTree) -> str:
    """How many tokens, how large, which, and where in the window."""
    sentence, where = outliers_finding(results), array(results, "outliers/position").values
    if not where.size:
        return sentence
    low, high = int(where.min()), int(where.max())
    place = f"at position {low}" if low == high else f"at positions {low} to {high}"
    rule = {"drop": ", left out of all sums", "keep": ", kept in all sums"}
    return f"{sentence}; {place}{rule.get(str(results.attrs.get('outliers')), '')}"


def heads(results: xr.DataTree) -> str | None:
    """How many heads are of which kind, the clearest of each with its interval; without kinds, where heads attend."""
    if has(results, "taxonomy/kind"):
        return kinds_of_heads(results)
    held = [f"{label_of(path)} {highest(results, path)}" for path in ON_TEXT if has(results, path)]
    command = GROUPS["taxonomy"].command
    return f"Highest {', '.join(held)}; `{command}` adds the kinds of heads" if held else None


def kinds_of_heads(results: xr.DataTree) -> str:
    """How many heads are of each kind, the clearest of each, and the highest scores of the random-weight control."""
    kind = array(results, "taxonomy/kind").values.astype(str)
    counts, nulls = [], []
    for name in (name for name in KINDS if (kind == name).any()):
        count = int((kind == name).sum())
        best = f" ({highest(results, f'taxonomy/{name}', kind == name)})" if has(results, f"taxonomy/{name}") else ""
        counts.append(f"{count} {of_kind(name, count)}{best}")
        if has(results, f"taxonomy/{name}_null"):
            nulls.append(float(numbers(results, f"taxonomy/{name}_null")))
    others = f"{int((kind == '').sum())} of {kind.size} heads of no kind"
    control = f". Random-weight control: at most {quoted(max(nulls), np.nan, '%')}" if nulls else ""
    return ", ".join([*counts, others]) + control


def nearest(results: xr.DataTree) -> str | None:
    """How often the likeliest token is the one with the largest cosine; None without a head."""
    path = "norm_geometry/argmax_agreement"
    if not has(results, path) or not np.isfinite(numbers(results, path)):
        return None
    margin = np.nan
    if has(results, f"{path}_se"):
        margin = half_width(draws(results, path), LEVEL) * float(numbers(results, f"{path}_se"))
    share = quoted(float(numbers(results, path)), float(margin), "%")
    return f"In {share} of states the likeliest token also has the largest cosine with the state"


def alignment(results: xr.DataTree) -> str | None:
    """Whether queries and keys are aligned like random matrices: how many heads are not, and of the control."""
    answer = weight_answers(results).get("aligned_like_random")
    return None if answer is None else f"{WORDS[answer.numbers.verdict]}: {answer.because}"


def pressed(results: xr.DataTree) -> str | None:
    """Whether spectra of queries and keys are pressed down below Glorot's initialisation, and below the control's."""
    found = weight_answers(results)
    names = [name for name in ("query_below_glorot", "query_below_control") if name in found]
    said = [f"{WORDS[found[name].numbers.verdict].lower()} ({found[name].because})" for name in names]
    beside = ("Below Glorot's initialisation", "below the control")
    return "; ".join(f"{what}: {words}" for what, words in zip(beside, said, strict=False)) or None


def readable(results: xr.DataTree) -> str:
    """How many readings of the first and of the last block stand out."""
    found = store_answers(results)
    first, last = found["early_unreadable"], found["late_readable"]
    blocks = [answer.claim.partition(" is ")[0] for answer in (first, last)]
    return f"{blocks[0]}: {first.because}. {blocks[1]}: {last.because}"


def specific(results: xr.DataTree) -> str | None:
    """Whether the last block finds keys and writes values of a word's own subject."""
    found = [store_answers(results).get(f"{what}_specific_late") for what in ("keys", "values")]
    said = [f"{answer.claim.split()[-1]}: {answer.because}" for answer in found if answer is not None]
    verdicts = {answer.numbers.verdict for answer in found if answer is not None}
    return f"{WORDS[verdicts.pop()] if len(verdicts) == 1 else 'In part'}: {'; '.join(said)}" if said else None


WORDS = {"holds": "Yes", "does not hold": "No", "not determined": "Not determined"}
"""A verdict as the answer to a question."""


def of_kind(name: str, count: int) -> str:
    """Heads of one kind in words: 1 induction head, 3 attention sinks."""
    word = KINDS[name]
    return (word if word.endswith("sink") else f"{word} head") + ("" if count == 1 else "s")


def highest(results: xr.DataTree, path: str, among: Bool[np.ndarray, "block head"] | None = None) -> str:
    """The head with the highest share of attention, with the margin that holds for all heads jointly."""
    value = numbers(results, path)
    chosen = np.where(np.isfinite(value) & (True if among is None else among), value, -np.inf)
    block, head = np.unravel_index(int(chosen.argmax()), value.shape)
    margin = np.nan
    if has(results, f"{path}_se"):
        width = half_width(draws(results, path), 1 - (1 - LEVEL) / value.size)
        margin = width * float(numbers(results, f"{path}_se")[block, head])
    return f"L{block}H{head}: {quoted(float(value[block, head]), float(margin), '%')}"


QUESTIONS = (
    Question("How much variance does position explain?", ("position-share", "variance-shares")),
    Question("How much variance does context explain?", ("variance-shares",), context),
    Question("Is the positional basis low-rank?", ("position-stable-rank", "position-rank", "position-spectrum")),
    Question("Is it smooth along positions?", ("low-frequency-share", "position-frequencies")),
    Question("Are position and context orthogonal?", ("incoherence", "position-gram")),
    Question("Where are the massive activations?", ("outlier-tokens",), massive),
    Question("Which kinds of heads are there?", ("head-names", "head-grid", "head-distances"), heads),
    Question("Are W_Q and W_K aligned like random matrices?", ("qk-alignment",), alignment),
    Question("Are spectra of weights pressed down?", ("matrix-initial",), pressed),
    Question("Can heads be read as tokens?", ("store-readability",), readable),
    Question("Are late heads specific to a word's subject?", ("store-readability",), specific),
    Question("Do heads on text rank as their weights predict?", ("localization-agreement",)),
    Question("Do norms put states on a sphere?", ("norm-radii", "norm-axes")),
    Question("Is the likeliest token the nearest one?", ("norm-radii",), nearest),
    Question("How far do tokens travel?", ("travel-paths",)),
    Question("Does the published law of localization hold?", ("simulated-rho",)),
    Question("Does the softmax attend where ρ is high?", ("simulated-attention",)),
    Question("How well does the trained model do?", ("training-accuracy", "training-loss")),
    Question("How does the geometry form?", ("training-geometry",)),
)

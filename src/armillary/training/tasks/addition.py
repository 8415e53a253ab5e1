"""Addition as a task: a+b=c letter by letter, numbers of equal length, the answer one digit longer (05+07=012)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from armillary.training.settings import TrainingSettings
from armillary.training.tasks.kinds import IGNORED, WINDOWS, Examples, Task, Tokens, answers, grouped_loss
from armillary.training.tasks.tokenizing import character_tokenizer

CHARACTERS = "0123456789+="
TESTED = 16
"""One problem in this number, by a rule of its numbers, is never trained on; tests are made of these alone."""

Numbers = Int[np.ndarray, " problem"]


def addition_task(settings: TrainingSettings) -> Task:
    """Learn sums of numbers with digits_from to digits_to digits; the loss is on the answer alone."""
    length = problem_length(settings.longest)
    tokenizer = character_tokenizer(CHARACTERS, length)
    table = {letter: tokenizer.convert_tokens_to_ids(letter) for letter in CHARACTERS}
    reverse = settings.answers == "reversed"

    def lettered(problems: list[str], digits: Numbers) -> tuple[Tokens, Tokens]:
        return encoded_problems(problems, digits, table, tokenizer.pad_token_id)

    tests = {}
    for digits in range(1, settings.longest + 1):
        rng = np.random.default_rng([settings.seed, 2, digits])
        trained = settings.digits_from <= digits <= settings.digits_to
        pairs = drawn(rng, np.full(settings.problems, digits), tested=True if trained else None)
        one, other = np.unique(np.stack(pairs), axis=1)
        lengths = np.full(len(one), digits)
        tests[digits] = lettered(written(one, other, lengths, reverse=reverse), lengths)

    def judged(model: Any) -> dict[str, float]:
        return judgement(model, tests, range(settings.digits_from, settings.digits_to + 1))

    def heldout() -> Iterator[str]:
        rng, lengths = np.random.default_rng([settings.seed, 3]), np.full(settings.problems, settings.digits_to)
        yield from written(*drawn(rng, lengths, tested=True), lengths, reverse=reverse)

    return Task(
        tokenizer=tokenizer,
        length=length,
        examples=training_problems(settings, lettered),
        judged=judged,
        fixed=tests[settings.digits_to][0][:WINDOWS],
        heldout=heldout,
        about={
            "corpus": f"addition of {settings.digits_from} to {settings.digits_to} digits",
            **{f"problems_{digits}": len(tokens) for digits, (tokens, _) in tests.items()},
        },
    )


def problem_length(digits: int) -> int:
    """Letters of a problem: two numbers, + and =, and an answer that has one digit more."""
    return 3 * digits + 3


def training_problems(settings: TrainingSettings, lettered: Any) -> Examples:
    """Problems that follow from the seed and their number, all of the length of the longest trained."""
    count = settings.steps * settings.batch * settings.accumulation
    rng = np.random.default_rng([settings.seed, 1])
    digits = rng.integers(settings.digits_from, settings.digits_to + 1, count)
    sparse = rng.random(count) < settings.sparse if settings.sparse else None
    one, other = drawn(rng, digits, tested=False, sparse=sparse)
    reverse = settings.answers == "reversed"

    def of(numbers: Int[np.ndarray, " example"]) -> tuple[Tokens, Tokens]:
        chosen = digits[numbers]
        tokens, labels = lettered(written(one[numbers], other[numbers], chosen, reverse=reverse), chosen)
        width = problem_length(settings.digits_to)
        return padded(tokens, width), padded(labels, width, IGNORED)

    return Examples(count, of)


def drawn(
    rng: np.random.Generator,
    digits: Numbers,
    *,
    tested: bool | None,
    sparse: Bool[np.ndarray, " problem"] | None = None,
) -> tuple[Numbers, Numbers]:
    """Two numbers of the given digits for each problem: of those for tests, of the others, or of all problems.

    Where `sparse`, half of their digits are 0, of their first digits 1.
    """
    low = np.where(digits > 1, 10 ** (digits - 1), 0)

    def number(at: Numbers) -> Numbers:
        found = rng.integers(low[at], 10 ** digits[at])
        return found if sparse is None else np.where(sparse[at], thinned(rng, found, low[at]), found)

    everywhere = np.arange(len(digits))
    one, other = number(everywhere), number(everywhere)
    while tested is not None and len(wrong := np.flatnonzero(for_tests(one, other) != tested)):
        one[wrong], other[wrong] = number(wrong), number(wrong)
    return one, other


def thinned(rng: np.random.Generator, numbers: Numbers, low: Numbers) -> Numbers:
    """Numbers that have lost half of their digits, to those of `low`.

    A digit of a sum of two says nothing of one of them alone, so that nothing draws attention to either; a sum with 0
    is a copy.
    """
    place, found = 1, numbers.copy()
    while (numbers >= place).any():
        taken = (numbers // place % 10 - low // place % 10) * place
        found -= np.where(rng.random(len(numbers)) < 0.5, taken, 0)
        place *= 10
    return found


def for_tests(one: Numbers, other: Numbers) -> Bool[np.ndarray, " problem"]:
    """Which problems are kept for tests: a mixture of the bits of both numbers, without pattern in their digits."""
    mixed = one.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + other.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(40)) % np.uint64(TESTED) == 0


def written(one: Numbers, other: Numbers, digits: Numbers, *, reverse: bool) -> list[str]:
    """Problems with their answers; reversed answers begin with the units."""
    rows = zip(one.tolist(), other.tolist(), digits.tolist(), strict=True)
    shown = []
    for first, second, width in rows:
        answer = f"{first + second:0{width + 1}d}"
        shown.append(f"{first:0{width}d}+{second:0{width}d}={answer[::-1] if reverse else answer}")
    return shown


def encoded_problems(
    problems: list[str], digits: Numbers, table: dict[str, int], padding: int
) -> tuple[Tokens, Tokens]:
    """Token ids, padded on the right to the longest, and labels, which leave out question and padding."""
    width = max(map(len, problems))
    tokens = np.full((len(problems), width), padding, dtype=np.int64)
    for row, problem in enumerate(problems):
        tokens[row, : len(problem)] = [table[letter] for letter in problem]
    place, answer = np.arange(width), 2 * digits[:, None] + 2
    labelled = (place >= answer) & (place < answer + digits[:, None] + 1)
    return tokens, np.where(labelled, tokens, IGNORED)


def padded(tokens: Tokens, width: int, value: int = 0) -> Int[np.ndarray, "context width"]:
    """Rows made as long as `width`."""
    return np.pad(tokens, ((0, 0), (0, width - tokens.shape[1])), constant_values=value)


def judgement(model: Any, tests: dict[int, tuple[Tokens, Tokens]], trained: range) -> dict[str, float]:
    """The share of problems whose whole answer is right, by digits, and the loss on those of the trained lengths.

    Every digit is the likeliest one after the right digits before it: the same as writing the answer greedily.
    """
    found: dict[str, float] = {}
    losses: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    for digits, (tokens, wanted) in tests.items():
        parts = list(answers(model, tokens, wanted))
        asked = wanted[:, 1:] != IGNORED
        right = np.concatenate([likeliest for _, likeliest in parts])
        found[f"eval_accuracy_{digits}"] = float(np.mean((right | ~asked).all(axis=1)))
        if digits in trained:
            losses.append(np.concatenate([loss for loss, _ in parts]))
            labels.append(wanted)
    return {**found, **pooled(losses, labels)}


def pooled(losses: list[np.ndarray], labels: list[np.ndarray]) -> dict[str, float]:
    """The loss over problems of several lengths, mixed, so that the groups of its error hold all lengths."""
    width = max(part.shape[1] for part in labels)
    wide = np.concatenate([np.pad(part, ((0, 0), (0, width - 1 - part.shape[1]))) for part in losses])
    marks = np.concatenate([padded(part, width, IGNORED) for part in labels])
    order = np.random.default_rng(0).permutation(len(marks))
    return grouped_loss(wide[order], marks[order])

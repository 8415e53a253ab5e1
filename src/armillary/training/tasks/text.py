"""A text as a task: windows at random places of its beginning, and the loss on windows of its end."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Int

from armillary.corpora import Document, Texts, corpus
from armillary.corpora.tokens import encoded
from armillary.errors import RequestError, SourceError
from armillary.measures.ngrams import bigram_entropy
from armillary.training.settings import TrainingSettings
from armillary.training.tasks.kinds import WINDOWS, Examples, Task, Tokens, answers, grouped_loss
from armillary.training.tasks.tokenizing import character_tokenizer, pair_tokenizer

VALIDATION = 256
"""The most windows that a validation reads, evenly spread over the end of the text."""

BETWEEN = "\n\n"
"""What stands between two documents."""


def text_task(settings: TrainingSettings) -> Task:
    """Learn the beginning of a corpus; its end, a share `heldout`, is kept for validation."""
    whole = whole_text(settings.corpus)
    cut = round(len(whole) * (1 - settings.heldout))
    if settings.tokens == "characters":
        tokenizer = character_tokenizer(whole, settings.context)
    else:
        tokenizer = pair_tokenizer(whole[:cut], settings.vocabulary, settings.context)
    learnt, kept = (np.asarray(encoded(tokenizer, [part])[0], dtype=np.int64) for part in (whole[:cut], whole[cut:]))
    refuse_small(settings, len(learnt), len(kept))
    windows = consecutive(kept, settings.context)
    chosen = windows[np.unique(np.linspace(0, len(windows) - 1, VALIDATION).round().astype(np.int64))]

    def judged(model: Any) -> dict[str, float]:
        losses = np.concatenate([loss for loss, _ in answers(model, chosen, chosen)])
        return grouped_loss(losses, chosen)

    def heldout() -> Iterator[str]:
        yield whole[cut:]

    return Task(
        tokenizer=tokenizer,
        length=settings.context,
        examples=random_windows(learnt, settings),
        judged=judged,
        fixed=chosen[:: -(-len(chosen) // WINDOWS)],
        heldout=heldout,
        about={
            "corpus": settings.corpus,
            "corpus_sha256": hashlib.sha256(whole.encode("utf-8")).hexdigest(),
            "bigram_entropy": bigram_entropy(np.concatenate([learnt, kept])),
        },
    )


def whole_text(source: str) -> str:
    """All documents of a corpus as one text."""
    found = corpus(source)
    if not isinstance(found, Texts):
        raise RequestError(f"expected a corpus of texts to learn, got {source!r}: choose a text")
    texts = [each.text for each in found.read() if isinstance(each, Document)]
    whole = BETWEEN.join(texts)
    if not whole:
        raise SourceError(f"expected a text to learn in {source!r}, got nothing: give another corpus")
    return whole


def refuse_small(settings: TrainingSettings, learnt: int, kept: int) -> None:
    """Refuse a corpus that holds less than one batch, or no window for validation."""
    needed = settings.batch * settings.context
    if learnt < needed:
        raise RequestError(
            f"expected at least {needed} tokens to learn ({settings.batch} windows of {settings.context}), got "
            f"{learnt} in {settings.corpus!r}: give a longer text, or a smaller --batch or --context"
        )
    if kept < settings.context:
        raise RequestError(
            f"expected at least {settings.context} tokens for validation, got {kept}: give a longer text, or a larger "
            "--heldout"
        )


def consecutive(tokens: Int[np.ndarray, " token"], length: int) -> Tokens:
    """Windows one after the other; what is left at the end falls away."""
    count = len(tokens) // length
    return tokens[: count * length].reshape(count, length)


def random_windows(tokens: Int[np.ndarray, " token"], settings: TrainingSettings) -> Examples:
    """Windows at places that follow from the seed."""
    count = settings.steps * settings.batch * settings.accumulation
    places = np.random.default_rng([settings.seed, 1]).integers(0, len(tokens) - settings.context + 1, count)
    along = np.arange(settings.context)

    def of(numbers: Int[np.ndarray, " example"]) -> tuple[Tokens, Tokens]:
        found = tokens[places[numbers][:, None] + along]
        return found, found

    return Examples(count, of)

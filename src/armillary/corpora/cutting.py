"""Documents cut into windows of equal length, and windows drawn from them, seeded, without overlap."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Int, Int64

from armillary.corpora.sources import Corpus, RandomTokens, ReadyWindows, Texts
from armillary.corpora.tokens import Bos, Prefix, Reading, ordinary_ids, prefix, reading
from armillary.errors import RequestError, did_you_mean
from armillary.system.texts import numbered

CONTEXTS = 64
LENGTH = 128
STREAM_FACTOR = 4
"""A streamed corpus is read until it holds this many times the windows (or documents) asked for."""


@dataclass(frozen=True)
class Windows:
    """Windows of tokens, each with its document and its place there, and the account of how they were drawn.

    `offset` is the token of the document at which the window's text begins (a prefix is not counted); `documents` names
    the documents that appear, in the order of the corpus, and `too_short` those that are too short for one window.
    """

    tokens: Int64[np.ndarray, "context position"]
    document: Int64[np.ndarray, "context"]
    offset: Int64[np.ndarray, "context"]
    documents: tuple[str, ...]
    too_short: tuple[str, ...]
    provenance: dict[str, str | int]


def windows(
    corpus: Corpus,
    tokenizer: Any,
    *,
    contexts: int = CONTEXTS,
    length: int = LENGTH,
    seed: int = 0,
    bos: Bos = "auto",
    crossing: bool = False,
    documents: int | None = None,
    per_document: int | None = None,
    vocab_size: int | None = None,
    max_length: int | None = None,
) -> Windows:
    """Draw `contexts` windows of `length` tokens from a corpus.

    Each document is tokenised whole, without special tokens, and cut into windows that do not overlap. The first begins
    at a random phase, uniform in [0, min(step, tokens - step + 1)) where step = length - prefix: a document that holds
    one window never loses it to the phase. With `crossing` the documents make one stream and a window may run from one
    into the next. Windows are drawn without replacement; more contexts of the same texts and seed keep the first ones.
    A streamed corpus (a data set, an iterator) is read until it holds four times the windows asked for. `documents` and
    `per_document` ask for a balanced sample instead: `per_document` windows of each of the `documents` longest
    documents, one document after the other in turn. Ready windows are used as they are, all of them. `bos` says whether
    a window begins with BOS or CLS: as the tokenizer does (auto), always or never. Token ids from `vocab_size` on are
    refused, or not drawn; a window longer than `max_length`, the model's own limit, is refused.
    """
    _refuse_numbers(contexts, length, seed, bos)
    balanced = _balance(documents, per_document, contexts, crossing)
    if balanced is not None and not isinstance(corpus, Texts):
        raise RequestError(f"expected a corpus of texts for documents=, got {corpus.name}: omit documents=")
    if isinstance(corpus, ReadyWindows):
        drawn = _ready(corpus, contexts, length)
    else:
        if tokenizer is None and isinstance(corpus, Texts):
            raise RequestError(
                f"expected a tokenizer to cut {corpus.name}, got None: give one, or ready windows as an array"
            )
        first = prefix(tokenizer, bos)
        step = length - len(first.ids)
        if step < 1:
            raise RequestError(
                f"expected windows longer than their prefix {first.texts}, got length={length}: choose a larger one"
            )
        _refuse_length(length, max_length)
        if isinstance(corpus, RandomTokens):
            drawn = _random(corpus, ordinary_ids(tokenizer, vocab_size), contexts, step, seed)
        else:
            worth, target = _enough(contexts, step, crossing, balanced)
            read = reading(corpus.read(), tokenizer, worth, target if corpus.streamed else None)
            drawn = _drawn(corpus.name, read, contexts, step, seed, crossing, balanced)
        drawn = _prefixed(drawn, first, bos, seed)
    n, positions = drawn.tokens.shape
    _refuse_length(positions, max_length)
    _refuse_foreign_ids(drawn.tokens, vocab_size if vocab_size is not None or tokenizer is None else len(tokenizer))
    return replace(drawn, provenance=drawn.provenance | {"contexts": n, "length": positions})


def _refuse_numbers(contexts: int, length: int, seed: int, bos: str) -> None:
    if contexts < 1:
        raise RequestError(f"expected at least 1 context, got contexts={contexts}: choose a larger number")
    if length < 2:
        raise RequestError(f"expected windows of at least 2 tokens, got length={length}: choose a larger one")
    if seed < 0:
        raise RequestError(f"expected a seed of 0 or more, got seed={seed}: choose another")
    if bos not in get_args(Bos):
        raise RequestError(f"expected a value of bos, got {bos!r}: {did_you_mean(bos, get_args(Bos))}")


def _refuse_length(length: int, max_length: int | None) -> None:
    if max_length is not None and length > max_length:
        raise RequestError(
            f"expected at most {max_length} tokens, the model's maximum, got length={length}: choose a smaller one"
        )


def _refuse_foreign_ids(tokens: Int[np.ndarray, "context position"], vocab_size: int | None) -> None:
    low, high = int(tokens.min()), int(tokens.max())
    if low < 0 or (vocab_size is not None and high >= vocab_size):
        expected = "of 0 or more" if vocab_size is None else f"from 0 to {vocab_size - 1}"
        raise RequestError(f"expected token ids {expected}, got {low} to {high}: use the model's own tokenizer")


def _balance(documents: int | None, per_document: int | None, contexts: int, crossing: bool) -> tuple[int, int] | None:
    if documents is None and per_document is None:
        return None
    if documents is None or per_document is None or documents < 1 or per_document < 1 or documents * per_document < 2:
        raise RequestError(
            "expected documents and per_document together, at least 2 windows in all, "
            f"got documents={documents}, per_document={per_document}: give both or neither"
        )
    if crossing:
        raise RequestError("expected windows inside documents for a balanced sample, got crossing=True: omit it")
    if contexts not in (CONTEXTS, documents * per_document):
        raise RequestError(
            f"expected contexts = documents x per_document = {documents * per_document}, got {contexts}: omit contexts"
        )
    return documents, per_document


def _ready(corpus: ReadyWindows, contexts: int, length: int) -> Windows:
    n, positions = corpus.tokens.shape
    if n < 1 or positions < 2:
        raise RequestError(f"expected ready windows of at least 1 x 2 tokens, got {n} x {positions}: give more")
    if contexts not in (CONTEXTS, n) or length not in (LENGTH, positions):
        raise RequestError(
            f"expected contexts={n} and length={positions} as the ready windows have, got contexts={contexts}, "
            f"length={length}: omit both"
        )
    rows_of: dict[str, list[int]] = {}
    for row, name in enumerate(corpus.documents):
        rows_of.setdefault(name, []).append(row)
    document, offset = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for index, rows in enumerate(rows_of.values()):
        document[rows] = index
        # Rows of one document are taken to follow each other: there is no other knowledge of their place.
        offset[rows] = positions * np.arange(len(rows))
    return Windows(
        tokens=corpus.tokens,
        document=document,
        offset=offset,
        documents=tuple(rows_of),
        too_short=(),
        provenance={**_origin(corpus.name, corpus.tokens), "bos": "as given", "n_documents": len(rows_of)},
    )


def _random(corpus: RandomTokens, ids: Int[np.ndarray, "token"], contexts: int, step: int, seed: int) -> Windows:
    tokens = ids[_stream(seed, "draw").integers(len(ids), size=(contexts, step))]
    return Windows(
        tokens=tokens,
        document=np.arange(contexts, dtype=np.int64),
        offset=np.zeros(contexts, dtype=np.int64),
        documents=tuple(f"random {index}" for index in range(contexts)),
        too_short=(),
        provenance={**_origin(corpus.name, tokens), "n_documents": contexts},
    )


def _origin(name: str, tokens: Int64[np.ndarray, "context position"]) -> dict[str, str | int]:
    digest = hashlib.sha256(str(tokens.shape).encode() + np.ascontiguousarray(tokens).tobytes()).hexdigest()
    return {"corpus": name, "corpus_sha256": digest, "available": len(tokens), "n_too_short": 0}


def _prefixed(drawn: Windows, first: Prefix, bos: Bos, seed: int) -> Windows:
    before = np.broadcast_to(np.array(first.ids, dtype=np.int64), (len(drawn.tokens), len(first.ids)))
    account: dict[str, str | int] = {
        "seed": seed,
        "bos": bos,
        "bos_tokens": " ".join(first.texts),
        "bos_ids": " ".join(map(str, first.ids)),
    }
    tokens = np.concatenate([before, drawn.tokens], axis=1)
    return replace(drawn, tokens=tokens, provenance=drawn.provenance | account)


def _stream(seed: int, purpose: Literal["phase", "draw"]) -> np.random.Generator:
    # Phases and drawing never share numbers: another number of contexts leaves every phase where it was.
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0 if purpose == "phase" else 1])


def _enough(
    contexts: int, step: int, crossing: bool, balanced: tuple[int, int] | None
) -> tuple[Callable[[int], int], int]:
    """When a stream has given enough: the worth of a document by its number of tokens, and the sum to reach."""
    if crossing:
        return int, (STREAM_FACTOR * contexts + 1) * step

    def certain(tokens: int) -> int:
        return max(1, tokens // step - 1) if tokens >= step else 0

    if balanced is None:
        return certain, STREAM_FACTOR * contexts
    documents, per_document = balanced
    return lambda tokens: int(certain(tokens) >= per_document), STREAM_FACTOR * documents


def _drawn(
    name: str,
    read: Reading,
    contexts: int,
    step: int,
    seed: int,
    crossing: bool,
    balanced: tuple[int, int] | None,
) -> Windows:
    sizes = np.array([len(ids) for ids in read.tokens], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    too_short = () if crossing else tuple(read.names[index] for index in np.flatnonzero(sizes < step))
    cut = _cut(starts[-1:] if crossing else sizes, step, seed)
    available = int(cut.count.sum())
    shortage = (
        f"{name} has {numbered(available, 'window')} of {step} tokens in {numbered(len(sizes), 'document')}, "
        f"{len(too_short)} of them too short"
    )
    if balanced is None:
        if contexts > available:
            raise RequestError(
                f"expected {contexts} windows, got fewer: {shortage}; ask for fewer or shorter windows, or more text"
            )
        picked = _stream(seed, "draw").permutation(available)[:contexts]
        where, begin = cut.places(picked)
    else:
        where, begin = _balanced_places(cut, sizes, balanced, seed, shortage)
    stream = np.concatenate(read.tokens)
    begin = begin if crossing else begin + starts[where]
    document = np.searchsorted(starts, begin, side="right") - 1
    appearing, renumbered = np.unique(document, return_inverse=True)
    asked = {} if balanced is None else {"documents": balanced[0], "per_document": balanced[1]}
    return Windows(
        tokens=stream[begin[:, None] + np.arange(step)].astype(np.int64),
        document=renumbered.astype(np.int64),
        offset=(begin - starts[document]).astype(np.int64),
        documents=tuple(read.names[index] for index in appearing),
        too_short=too_short,
        provenance={
            "corpus": name,
            "corpus_sha256": read.sha256,
            "available": available,
            "crossing": int(crossing),
            **asked,
            "n_documents": len(sizes),
            "n_too_short": len(too_short),
            "n_empty": read.n_empty,
            "n_unreadable": read.n_unreadable,
            "n_tokens": int(starts[-1]),
            "utf8_replacements": read.utf8_replacements,
            "stopped_early": int(read.stopped),
        },
    )


@dataclass(frozen=True)
class _Cut:
    """The windows of all documents, numbered through: the k-th of a document begins at phase + k step."""

    phase: Int64[np.ndarray, "document"]
    count: Int64[np.ndarray, "document"]
    step: int

    def places(
        self, windows: Int64[np.ndarray, "context"]
    ) -> tuple[Int64[np.ndarray, "context"], Int64[np.ndarray, "context"]]:
        """The document of each window, and where in that document it begins."""
        ends = np.cumsum(self.count)
        document = np.searchsorted(ends, windows, side="right")
        rank = windows - (ends - self.count)[document]
        return document, self.phase[document] + rank * self.step


def _cut(sizes: Int64[np.ndarray, "document"], step: int, seed: int) -> _Cut:
    # One number per document, short or not: its phase then depends on its place in the corpus and not on the others.
    uniform = _stream(seed, "phase").random(len(sizes))
    phase = np.floor(uniform * np.clip(sizes - step + 1, 1, step)).astype(np.int64)
    return _Cut(phase, np.maximum(0, (sizes - phase) // step), step)


def _balanced_places(
    cut: _Cut, sizes: Int64[np.ndarray, "document"], balanced: tuple[int, int], seed: int, shortage: str
) -> tuple[Int64[np.ndarray, "context"], Int64[np.ndarray, "context"]]:
    documents, per_document = balanced
    longest = np.argsort(-sizes, kind="stable")[:documents]
    have = cut.count[longest]
    if len(longest) < documents or have.min() < per_document:
        raise RequestError(
            f"expected {per_document} windows of each of {documents} documents, got fewer: {shortage}, "
            f"and the longest {len(longest)} hold {', '.join(map(str, have[:8]))}; ask for fewer"
        )
    draw = _stream(seed, "draw")
    first = np.cumsum(cut.count) - cut.count
    picked = np.stack([first[index] + draw.permutation(cut.count[index])[:per_document] for index in longest], axis=1)
    return cut.places(picked.reshape(-1))

"""The vocabulary of a model as vectors that directions of the hidden space are read by, and words as such vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from armillary.corpora.tokens import encoded, token_text
from armillary.errors import RequestError
from armillary.measures.stores.lexicon import Lexicon, lexicon, unit_rows
from armillary.models.view import View
from armillary.probes.stores.nouns import NOUNS, SUBJECTS
from armillary.probes.weights import finite
from armillary.system.texts import escaped


@dataclass(frozen=True)
class Vocabulary:
    """Token vectors at the input and at the output of the hidden space, and how the output is read.

    `centring` says that vectors are centred over their coordinates, as LayerNorm does.
    """

    tokenizer: Any
    input: Lexicon
    output: Lexicon
    read_by: str
    centring: bool

    def texts(self, tokens: Int[np.ndarray, "..."]) -> np.ndarray:
        """The texts of tokens, escaped; empty where there is none."""
        ids, places = np.unique(tokens, return_inverse=True)
        known = [token_text(self.tokenizer, int(token)) if token >= 0 else "" for token in ids]
        return np.array(known, dtype=object)[places].reshape(tokens.shape).astype(str)


def vocabulary(view: View, folded: bool) -> Vocabulary:
    """What a model's directions are read by: embeddings where heads read, the unembedding where they write.

    Folded, the final norm's gain stands in the unembedding, and LayerNorm's centring in both. Without an unembedding
    of d_model, what is written is read by embeddings too. Tokens that the tokenizer does not know are left out.
    """
    refuse_without_tokenizer(view)
    known = min(len(view.W_E), len(view.tokenizer))
    tokens = finite(view.embeddings[:known], ("token", "d_model"), "the embeddings").values
    norm = view.attention_norm(0 if view.n_blocks == 1 else 1)
    centring = folded and norm is not None and norm.kind == "layer"
    inwards = lexicon(tokens, centring)
    unembedding, final = view.W_U, view.norm_final() if folded else None
    if unembedding is None or len(unembedding) != view.d_model or unembedding.shape[1] < known:
        return Vocabulary(view.tokenizer, inwards, inwards, "embeddings", centring)
    written = finite(unembedding.T[:known], ("token", "d_model"), "the unembedding").values
    if final is not None:
        written = written * finite(final.gain, ("d_model",), "the gain of the final norm").values
    outwards = lexicon(written, final is not None and final.kind == "layer")
    return Vocabulary(view.tokenizer, inwards, outwards, "the unembedding", centring)


def refuse_without_tokenizer(view: View) -> None:
    """Refuse a model whose tokens have no texts."""
    if view.tokenizer is None:
        raise RequestError(
            f"expected a tokenizer to read directions as tokens, got none with {view.name}: "
            "give it to load as tokenizer=, or use `armillary weights`, which needs none"
        )


@dataclass(frozen=True)
class Words:
    """Words by their escaped texts, tokens, and vectors of norm 1; the subject of each where the list has subjects."""

    texts: tuple[str, ...]
    tokens: tuple[tuple[int, ...], ...]
    input: Float[np.ndarray, "word d_model"]
    output: Float[np.ndarray, "word d_model"]
    subject: Int[np.ndarray, " word"] | None

    @property
    def divided(self) -> int:
        """How many words have more than one token."""
        return sum(len(ids) > 1 for ids in self.tokens)


def words_of(view: View, known: Vocabulary, asked: Sequence[str] | None) -> Words | None:
    """The words asked for, else those of the built-in list that the tokenizer knows; None where it knows none.

    The vector of a word is the mean of its tokens' vectors.
    """
    own = asked is None
    listed = NOUNS if asked is None else tuple(dict.fromkeys(str(word).strip() for word in asked))
    if not listed:
        raise RequestError("expected words, got an empty list: name some, or leave them out for the built-in list")
    limit = len(known.input.vectors)
    tokens = {word: word_tokens(view.tokenizer, word, limit) for word in listed}
    if own:
        tokens = {word: ids for word, ids in tokens.items() if ids}
    for word in tokens:
        refuse_unknown(word, tokens[word])
    if len(tokens) < 2 and own:
        return None
    subjects = {noun: place for place, nouns in enumerate(SUBJECTS.values()) for noun in nouns}
    ids = tuple(tokens.values())
    return Words(
        tuple(map(escaped, tokens)),
        ids,
        mean_vectors(known.input, ids),
        mean_vectors(known.output, ids),
        np.array([subjects[word] for word in tokens]) if own else None,
    )


def mean_vectors(words: Lexicon, tokens: tuple[tuple[int, ...], ...]) -> Float[np.ndarray, "word d_model"]:
    """The mean of each word's token vectors, scaled to norm 1."""
    means = np.array([words.vectors[list(ids)].mean(axis=0, dtype=np.float64) for ids in tokens])
    return unit_rows(means, False).astype(np.float64)


def word_tokens(tokenizer: Any, word: str, limit: int) -> tuple[int, ...]:
    """The tokens of a word, with a blank before it unless it has fewer without; none where one of them is unknown."""
    readings = [tuple(ids) for ids in encoded(tokenizer, [f" {word}", word])]
    ids = min(readings, key=len)
    unknown = getattr(tokenizer, "unk_token_id", None)
    # Some models give their end of text the name of the unknown token as well; no word is made of it.
    return () if unknown in ids or any(token >= limit for token in ids) else ids


def refuse_unknown(word: str, ids: tuple[int, ...]) -> None:
    """Refuse a word that has no tokens."""
    if not ids:
        raise RequestError(
            f"expected a word that the tokenizer knows, got {word!r}, which gives no token or an unknown one: "
            "choose another word"
        )

"""Which tokens make which word: letters and digits that stand together are a word, and so are signs between them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from armillary.system.texts import escaped

_SPACES = ("Ġ", "▁", "Ċ", "ĉ", " ", "\n", "\t", "\r")
_CONTINUES = "##"


class Words(NamedTuple):
    """For each token the number of its word, and the words' texts, escaped."""

    word_index: Int[np.ndarray, "position"]
    texts: tuple[str, ...]


def words_of(tokenizer: Any, ids: Sequence[int]) -> Words:
    """The words of a row of token ids. A special token is a word of its own.

    Tokenizers mark either the tokens that begin after a space (Ġ, ▁) or those that continue a word (##); one that does
    neither has a word per token. Where spaces are marked, a change between letters and other signs begins a word too,
    as it does by itself for those that mark continuations.
    """
    pieces = [str(piece) for piece in tokenizer.convert_ids_to_tokens(list(ids))]
    special = set(getattr(tokenizer, "all_special_ids", ()))
    marked = any(piece.startswith(_SPACES) for piece in tokenizer.get_vocab())
    first: list[int] = []
    for position, (token, piece) in enumerate(zip(ids, pieces, strict=True)):
        alone = position == 0 or token in special or ids[position - 1] in special
        if alone or (_begins(pieces[position - 1], piece) if marked else not piece.startswith(_CONTINUES)):
            first.append(position)
    ends = [*first[1:], len(pieces)]
    index = np.repeat(np.arange(len(first)), np.diff([*first, len(pieces)]))
    texts = [tokenizer.decode(list(ids[start:end])) for start, end in zip(first, ends, strict=True)]
    return Words(index, tuple(escaped(text.strip() or text) for text in texts))


def _begins(before: str, piece: str) -> bool:
    """Whether a piece begins a word: after a space, or where letters end or begin. Lone spaces go with what follows."""
    if piece.startswith(_SPACES):
        return True
    return bool(before.strip("".join(_SPACES))) and _letter(before[-1]) != _letter(piece[0])


def _letter(sign: str) -> bool:
    # Byte-level tokenizers write the bytes of letters beyond ASCII as signs of their own, from ¡ on.
    return sign.isalnum() or sign >= "\x80"

"""What is asked of a tokenizer: the ids of whole documents, and the token that it sets before a text."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, TypeGuard

import numpy as np
from jaxtyping import Int, UInt32

from armillary.corpora.texts import Document, Skipped
from armillary.errors import RequestError, SourceError, reason
from armillary.system.texts import escaped

Bos = Literal["auto", "always", "never"]

_BATCH_DOCUMENTS = 64
_BATCH_CHARACTERS = 1 << 20


@dataclass(frozen=True)
class Prefix:
    """The ids that stand before every window, and their texts."""

    ids: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()


def prefix(tokenizer: Any, bos: Bos) -> Prefix:
    """What stands before every window: by default what the tokenizer itself sets before a text (BOS, CLS)."""
    if bos == "never" or tokenizer is None:
        if bos == "always":
            raise RequestError("expected a tokenizer for bos='always', got None: give one, or bos='never'")
        return Prefix()
    ids = _own_prefix(tokenizer) if bos == "auto" else _first_token(tokenizer)
    return Prefix(ids, tuple(str(text) for text in tokenizer.convert_ids_to_tokens(list(ids))))


def _own_prefix(tokenizer: Any) -> tuple[int, ...]:
    # Not the empty text: T5 answers it with a closing token alone, which would pass for an opening one.
    plain, whole = (encoded(tokenizer, ["a"], special=special)[0] for special in (False, True))
    for start in range(len(whole) - len(plain) + 1):
        if whole[start : start + len(plain)] == plain:
            return tuple(whole[:start])
    raise SourceError(
        f"expected the tokenizer to set its special tokens around a text, got {whole} for {plain}: "
        "choose bos='always' or bos='never'"
    )


def _first_token(tokenizer: Any) -> tuple[int, ...]:
    for name in ("bos_token_id", "cls_token_id"):
        if (found := getattr(tokenizer, name, None)) is not None:
            return (int(found),)
    raise RequestError("expected a BOS or CLS token for bos='always', got a tokenizer without one: choose bos='never'")


class Rusty:
    """Around tokenizers in Rust, which raise Exception itself, or give up with an error that no Python module names.

    Both are told by their very kind: a handler for them would catch everything.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None and (kind is Exception or type(error).__name__ == "PanicException"):
            raise SourceError(
                f"expected a tokenizer that reads any text, got an error ({reason(error)}): give tokenizer=..."
            ) from error


def encoded(tokenizer: Any, texts: list[str], *, special: bool = False) -> list[list[int]]:
    """The ids of texts, whole; truncation is refused in words, because a tokenizer file may ask for it."""
    with Rusty():
        answer = tokenizer(
            texts,
            add_special_tokens=special,
            truncation=False,
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,  # a document longer than the model's maximum is the rule here, not a mistake
        )
    return answer["input_ids"]


def ordinary_ids(tokenizer: Any, vocab_size: int | None) -> Int[np.ndarray, "token"]:
    """All ids of the vocabulary but the special ones; without a tokenizer none is known to be special."""
    if tokenizer is None and vocab_size is None:
        raise RequestError("expected a tokenizer or vocab_size for random-tokens, got neither: give one of them")
    known = [size for size in (vocab_size, None if tokenizer is None else len(tokenizer)) if size is not None]
    ids = np.arange(min(known), dtype=np.int64)
    added = getattr(tokenizer, "added_tokens_decoder", {})
    special = {*getattr(tokenizer, "all_special_ids", ()), *(index for index, token in added.items() if token.special)}
    ids = ids[~np.isin(ids, np.array(sorted(special), dtype=np.int64))]
    if not len(ids):
        raise RequestError(
            f"expected ordinary tokens in the vocabulary, got {min(known)} special ids: check the tokenizer"
        )
    return ids


@dataclass
class Reading:
    """The documents of a corpus as token ids, with the account of what was read."""

    names: list[str] = field(default_factory=list)
    tokens: list[UInt32[np.ndarray, "_"]] = field(default_factory=list)
    n_empty: int = 0
    n_unreadable: int = 0
    utf8_replacements: int = 0
    stopped: bool = False
    sha256: str = ""


def reading(
    items: Iterable[Document | Skipped], tokenizer: Any, worth: Callable[[int], int] = int, target: int | None = None
) -> Reading:
    """Read and tokenise documents; with a `target`, only until the `worth` of their numbers of tokens adds up to it."""
    account = Reading()
    digest = hashlib.sha256()
    gathered = 0
    for item, ids in _with_ids(items, tokenizer):
        if isinstance(item, Skipped):
            account.n_unreadable += 1
            continue
        raw = item.text.encode()
        # The length keeps apart texts that read alike when joined.
        digest.update(len(raw).to_bytes(8, "little") + raw)
        account.utf8_replacements += item.replaced
        if ids is None:
            account.n_empty += 1
            continue
        account.names.append(item.name)
        account.tokens.append(ids)
        gathered += worth(len(ids))
        if target is not None and gathered >= target:
            account.stopped = True
            break
    account.sha256 = digest.hexdigest()
    return account


def _with_ids(
    items: Iterable[Document | Skipped], tokenizer: Any
) -> Iterator[tuple[Document | Skipped, UInt32[np.ndarray, "_"] | None]]:
    for batch in _batches(items):
        texts = [item.text for item in batch if _has_text(item)]
        ids = iter(encoded(tokenizer, texts) if texts else [])
        for item in batch:
            yield item, np.asarray(next(ids), dtype=np.uint32) if _has_text(item) else None


def _has_text(item: Document | Skipped) -> TypeGuard[Document]:
    return isinstance(item, Document) and bool(item.text.strip())


def _batches(items: Iterable[Document | Skipped]) -> Iterator[list[Document | Skipped]]:
    batch: list[Document | Skipped] = []
    characters = 0
    for item in items:
        batch.append(item)
        characters += len(item.text) if isinstance(item, Document) else 0
        if len(batch) >= _BATCH_DOCUMENTS or characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def token_text(tokenizer: Any, token: int) -> str:
    """A token as text, or its id where there is no tokenizer; bytes that are no whole letter as ⟨F0 9F⟩."""
    if tokenizer is None:
        return f"#{token}"
    text = str(tokenizer.decode([token]))
    if _REPLACEMENT in text and (raw := piece_bytes(str(tokenizer.convert_ids_to_tokens(token)))) is not None:
        text = _with_bytes(raw)
    return escaped(text)


_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_PRINTED = (*range(33, 127), *range(161, 173), *range(174, 256))
_BYTE_OF = {chr(byte): byte for byte in _PRINTED} | {
    chr(256 + place): byte for place, byte in enumerate(sorted(set(range(256)) - set(_PRINTED)))
}
"""Byte-level tokenizers write a byte as a letter: its own where that is printed, else one from 256 on."""


def piece_bytes(piece: str) -> bytes | None:
    """The bytes of a piece of a byte-level vocabulary (ðŁ) or of a byte fallback (<0xF0>); None where it is neither."""
    if match := re.fullmatch(r"<0x([0-9A-F]{2})>", piece):
        return bytes.fromhex(match[1])
    return bytes(_BYTE_OF[letter] for letter in piece) if all(letter in _BYTE_OF for letter in piece) else None


def _with_bytes(raw: bytes) -> str:
    """Bytes as text, those of no whole letter as hexadecimal numbers."""
    text = raw.decode(errors="surrogateescape")
    return re.sub("[\udc80-\udcff]+", lambda odd: f"⟨{odd[0].encode(errors='surrogateescape').hex(' ').upper()}⟩", text)

"""Tokens as text: a letter cut into bytes is shown as bytes, and bytes put together are the text again."""

import re

import pytest
import tokenizers
import transformers

from armillary.corpora.tokens import encoded, piece_bytes, token_text
from armillary.errors import SourceError

TEXT = "a 😀 שלום ñ 日"


@pytest.fixture(scope="module")
def byte_level():
    """A byte-level tokenizer that knows single bytes and no more: every other letter is cut."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    backend = tokenizers.Tokenizer(tokenizers.models.BPE({letter: at for at, letter in enumerate(alphabet)}, []))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend)


def test_the_letters_of_byte_level_tokenizers_stand_for_their_bytes(byte_level):
    ids = byte_level(TEXT)["input_ids"]
    assert b"".join(piece_bytes(byte_level.convert_ids_to_tokens(token)) for token in ids) == TEXT.encode()


def test_tokens_that_are_no_whole_letter_are_shown_as_bytes(byte_level):
    shown = [token_text(byte_level, token) for token in byte_level(TEXT)["input_ids"]]
    assert shown[:6] == ["a", " ", "⟨F0⟩", "⟨9F⟩", "⟨98⟩", "⟨80⟩"]
    assert "\N{REPLACEMENT CHARACTER}" not in "".join(shown)
    raw = [bytes.fromhex(text[1:-1]) if re.fullmatch("⟨.+⟩", text) else text.encode() for text in shown]
    assert b"".join(raw) == TEXT.encode()


def test_byte_fallback_is_read_and_a_word_is_none():
    assert piece_bytes("<0xF0>") == b"\xf0"
    assert piece_bytes("日本") is None


@pytest.mark.real
def test_emoji_and_hebrew_of_a_real_model_are_bytes_and_letters():
    import armillary as arm

    tokenizer = arm.load("smollm2", check=False).tokenizer
    shown = [token_text(tokenizer, token) for token in tokenizer("👋 שלום �")["input_ids"]]
    assert "⟨" in shown[0]
    assert "ל" in shown
    assert shown[-1] == "�", "a real replacement character stays"


@pytest.mark.parametrize(
    ("words", "pattern", "why"),
    [({"a": 0}, " ", "WordLevel error: Missing [UNK] token from the vocabulary"),
     ({"a": 0, "[UNK]": 1}, "(b+)+$", "Onig: Regex search error: retry-limit-in-match over")],
)  # fmt: skip
def test_a_tokenizer_that_fails_on_a_text_is_said_in_one_line(words, pattern, why):
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend)
    with pytest.raises(SourceError) as raised:
        encoded(tokenizer, ["b" * 40 + "c"])
    assert str(raised.value) == f"expected a tokenizer that reads any text, got an error ({why}): give tokenizer=..."


def test_an_error_that_is_no_tokenizers_is_not_dressed_as_one():
    def stopped(*_, **__):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encoded(stopped, ["a"])

"""Small tokenizers, made here and saved like any other: one token per character, or a byte-pair encoding."""

from collections.abc import Iterable
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

PADDING, UNKNOWN = "<pad>", "<unk>"


def character_tokenizer(characters: Iterable[str], length: int) -> Any:
    """One token for each of these characters; any other is unknown."""
    vocabulary = {token: number for number, token in enumerate([PADDING, UNKNOWN, *sorted(set(characters))])}
    own = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token=UNKNOWN))
    own.decoder = decoders.Fuse()
    return _saved_like_others(own, length)


def pair_tokenizer(text: str, size: int, length: int) -> Any:
    """A byte-pair encoding of at most `size` tokens learnt from a text; every byte has one, so that none is unknown."""
    own = Tokenizer(models.BPE(unk_token=UNKNOWN))
    own.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    own.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[PADDING, UNKNOWN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    own.train_from_iterator(text.splitlines(keepends=True), trainer)
    return _saved_like_others(own, length)


def _saved_like_others(own: Any, length: int) -> Any:
    return PreTrainedTokenizerFast(tokenizer_object=own, pad_token=PADDING, unk_token=UNKNOWN, model_max_length=length)

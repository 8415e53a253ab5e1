"""A tiny causal model with a tokenizer of its own, a word per token."""

import pytest
import tokenizers
import torch
import transformers

import armillary as arm

WORDS = ["the", "stars", "stand", "[red]", "where", "\x1b[31m"]


@pytest.fixture(scope="session")
def word_tokenizer():
    vocabulary = {word: index for index, word in enumerate(["[UNK]", *WORDS])}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]")


@pytest.fixture(scope="module")
def view(word_tokenizer):
    torch.set_num_threads(1)
    config = transformers.GPT2Config(
        vocab_size=7, n_embd=16, n_layer=2, n_head=2, n_positions=12, bos_token_id=None, eos_token_id=5
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model = transformers.GPT2LMHeadModel(config)
    return arm.load(model, tokenizer=word_tokenizer)

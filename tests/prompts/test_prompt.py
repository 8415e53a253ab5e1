"""One prompt: ids, texts, words and continuation, on a tiny model with a tokenizer of its own and on the real ones."""

import re

import numpy as np
import pytest
import tokenizers
import torch
import transformers

import armillary as arm
from armillary.errors import RequestError
from armillary.prompts.prompt import greedy

WORDS = ["the", "stars", "stand", "[red]", "where", "\x1b[31m"]


def word_tokenizer():
    vocabulary = {word: index for index, word in enumerate(["[UNK]", *WORDS])}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]")


@pytest.fixture(scope="module")
def view():
    torch.set_num_threads(1)
    config = transformers.GPT2Config(
        vocab_size=7, n_embd=16, n_layer=2, n_head=2, n_positions=12, bos_token_id=None, eos_token_id=5
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model = transformers.GPT2LMHeadModel(config)
    return arm.load(model, tokenizer=word_tokenizer())


def test_a_text_and_its_ids_give_the_same_maps(view):
    text, ids = arm.prompt(view, "the stars stand"), arm.prompt(view, [1, 2, 3])
    assert text.token.values.tolist() == [1, 2, 3]
    for name in ("logits", "pattern", "states", "output_norm", "text"):
        assert np.array_equal(text[name], ids[name])
    assert text.pattern.dims == ("block", "head", "query", "key")
    assert text.states.sizes["layer"] == 3
    assert all(variable.attrs["units"] and variable.attrs["long_name"] for variable in text.data_vars.values())


def test_texts_of_tokens_and_words_are_escaped(view):
    found = arm.prompt(view, "the \x1b[31m stars")
    assert found.text.values.tolist() == ["the", "\\x1b[31m", "stars"]
    assert found.word_text.values.tolist() == ["the", "\\x1b[31m", "stars"]


def test_a_model_without_a_tokenizer_reads_ids(view):
    bare = arm.load(view.model)
    found = arm.prompt(bare, torch.tensor([1, 2]).numpy())
    assert found.text.values.tolist() == ["#1", "#2"]
    assert "word_index" not in found


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "expected a text with at least one word, came an empty prompt"),
        (" \n\t", "expected a text with at least one word, came an empty prompt"),
        ([], "expected at least one token, came an empty prompt"),
        ([[1, 2]], "expected a text or a row of token ids, came an array int64 (1, 2)"),
        ([0.5], "expected a text or a row of token ids, came an array float64 (1,)"),
        ([7], "expected token ids from 0 to 6, came 7 to 7"),
        ([1, -1], "expected token ids from 0 to 6, came -1 to 1"),
        ("the " * 13, "expected at most 12 tokens, as GPT2LMHeadModel allows, came 13; shorten the prompt"),
    ],
)
def test_a_prompt_that_cannot_be_read_is_refused_in_one_line(view, source, message):
    with pytest.raises(RequestError, match=re.escape(message)):
        arm.prompt(view, source)


def test_a_text_needs_a_tokenizer(view):
    with pytest.raises(RequestError, match="expected token ids, came a text"):
        arm.prompt(arm.load(view.model), "the stars")
    with pytest.raises(RequestError, match="expected a tokenizer to write a continuation"):
        arm.continuation(arm.load(view.model), [1, 2])


def test_maps_that_do_not_fit_are_refused(view, monkeypatch):
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 100})())
    with pytest.raises(RequestError, match="the maps of 3 tokens take about"):
        arm.prompt(view, [1, 2, 3])


def test_a_family_without_known_heads_has_no_maps():
    config = transformers.MambaConfig(vocab_size=30, hidden_size=16, num_hidden_layers=2)
    view = arm.load(transformers.MambaModel(config))
    with pytest.raises(RequestError, match="expected a known family for attention maps, came 'mamba'"):
        arm.prompt(view, [1, 2, 3])
    with pytest.raises(RequestError, match="expected a known family for"), arm.scaled(view, 2.0):
        pass


def test_an_encoder_cannot_go_on():
    config = transformers.BertConfig(
        vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    for kind in (transformers.BertModel, transformers.BertForMaskedLM):
        view = arm.load(kind(config), tokenizer=word_tokenizer())
        with pytest.raises(RequestError, match=f"expected a causal language model .* came {kind.__name__}, which"):
            arm.continuation(view, [1, 2])


def test_the_continuation_is_that_of_generate(view):
    ids = np.array([1, 2, 3])
    given = torch.from_numpy(ids)[None]
    own = view.model.generate(
        given, attention_mask=torch.ones_like(given), do_sample=False, max_new_tokens=6, pad_token_id=0
    )[0, 3:].tolist()
    assert own[-1] == 5, "the model ends by itself, so that its end is tested too"
    assert greedy(view, ids, 6) == own[:-1]
    assert arm.continuation(view, ids, 6) == view.tokenizer.decode(own[:-1], skip_special_tokens=True)


def test_a_continuation_ends_where_the_model_does(view):
    assert len(greedy(view, np.array([1, 2]), 3)) <= 3
    text = arm.continuation(view, [1] * 11, 5)
    assert len(text.split()) <= 1
    assert arm.continuation(view, [1] * 12, 5) == ""


def test_reading_attention_on_the_way_changes_nothing(view):
    calls = []
    ids = np.array([1, 2, 3])
    assert greedy(view, ids, 4, calls.append) == greedy(view, ids, 4)
    assert [call.block for call in calls] == [0, 1]
    assert calls[0].input.shape[1] == 3


@pytest.mark.real
def test_the_real_continuation_is_that_of_generate():
    view = arm.load("smollm2")
    asked = view.tokenizer("The capital of France is", return_tensors="pt")
    own = view.model.generate(**asked, do_sample=False, max_new_tokens=8, repetition_penalty=1.0)[0]
    expected = view.tokenizer.decode(own[asked["input_ids"].shape[1] :], skip_special_tokens=True)
    assert arm.continuation(view, "The capital of France is", 8) == expected
    assert expected.startswith(" Paris")


@pytest.mark.real
def test_all_blocks_of_a_real_model_scaled_at_once_spread_or_sharpen_attention():
    view = arm.load("smollm2")
    text = "The armillary sphere shows where the stars stand."
    entropy = {}
    for alpha in (0.25, 1.0, 4.0):
        with arm.scaled(view, alpha):
            pattern = arm.prompt(view, text).pattern.values[0].astype(float)
        entropy[alpha] = float(-(pattern * np.log(np.maximum(pattern, 1e-300))).sum(-1).mean())
    assert entropy[0.25] > entropy[1.0] > entropy[4.0]

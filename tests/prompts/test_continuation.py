"""The continuation is transformers' own, on a tiny model and on a real one."""

import numpy as np
import pytest
import torch
import transformers

import armillary as arm
from armillary.errors import RequestError
from armillary.prompts.continuation import greedy


def test_an_encoder_continues_nothing(word_tokenizer):
    config = transformers.BertConfig(
        vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    for kind in (transformers.BertModel, transformers.BertForMaskedLM):
        view = arm.load(kind(config), tokenizer=word_tokenizer)
        with pytest.raises(RequestError, match=f"expected a causal language model .* got {kind.__name__}: load one"):
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


def test_a_continuation_needs_a_tokenizer(view):
    with pytest.raises(RequestError, match="expected a tokenizer to write a continuation, got none"):
        arm.continuation(arm.load(view.model), [1, 2])

"""What a prompt's ids may be, and what is refused in one line."""

import re

import pytest

import armillary as arm
from armillary.errors import RequestError
from armillary.prompts.ids import prompt_ids, read_pass


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "expected at least one word, got an empty prompt: write a text"),
        (" \n\t", "expected at least one word, got an empty prompt: write a text"),
        ([], "expected at least one token, got an empty prompt: give some"),
        ([[1, 2]], "expected a text or a row of token ids, got an array int64 (1, 2): give one row of integers"),
        ([0.5], "expected a text or a row of token ids, got an array float64 (1,): give one row"),
        ([7], "expected token ids from 0 to 6, got 7"),
        ([1, -1], "expected token ids from 0 to 6, got -1"),
        ("the " * 13, "expected at most 12 tokens, as GPT2LMHeadModel allows, got 13: shorten the prompt"),
    ],
)
def test_a_prompt_that_cannot_be_read_is_refused_in_one_line(view, source, message):
    with pytest.raises(RequestError, match=re.escape(message)):
        arm.prompt(view, source)


def test_a_text_needs_a_tokenizer(view):
    with pytest.raises(RequestError, match="expected token ids, got a text: GPT2LMHeadModel has no tokenizer"):
        arm.prompt(arm.load(view.model), "the stars")


def test_ids_are_those_of_the_tokenizer_and_every_block_is_read_once(view):
    ids = prompt_ids(view, "the stars stand")
    assert ids.tolist() == view.tokenizer("the stars stand")["input_ids"] == [1, 2, 3]
    calls = []
    read_pass(view, ids, calls.append)
    assert [call.block for call in calls] == [0, 1]
    assert calls[0].input.shape[:2] == (1, 3)

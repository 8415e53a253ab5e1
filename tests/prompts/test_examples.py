"""The built-in task: thirty words of our own, examples that never give the answer away."""

import pytest

from armillary.errors import RequestError
from armillary.prompts.examples import CLUES, fewshot


def test_there_are_thirty_words_and_no_clue_names_its_word():
    assert len(CLUES) == 30
    for word, clue in CLUES.items():
        assert word not in clue.lower()
        assert 3 <= len(clue.split()) <= 12
    assert len(set(CLUES.values())) == 30


@pytest.mark.parametrize("shots", [1, 3, 29])
def test_a_prompt_shows_other_words_and_ends_with_the_question(shots):
    asked = fewshot("river", shots)
    assert len(asked.spans) == shots
    assert asked.text.endswith("Word: river\nClue:")
    assert CLUES["river"] not in asked.text
    for start, end in asked.spans:
        shown = asked.text[start:end]
        assert sum(f"Word: {word}\nClue: {clue}\n" in shown for word, clue in CLUES.items()) == 1


def test_examples_follow_from_the_seed_and_the_word():
    assert fewshot("river", 3, seed=1) == fewshot("river", 3, seed=1)
    assert fewshot("river", 3, seed=1) != fewshot("river", 3, seed=2)
    assert fewshot("comet", 3).word == "comet"


@pytest.mark.parametrize("shots", [0, 30])
def test_more_shots_than_words_are_refused(shots):
    with pytest.raises(RequestError, match=f"expected a number of shots from 1 to 29, got {shots}"):
        fewshot("river", shots)

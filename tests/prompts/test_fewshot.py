"""The built-in task on models: tokens find their example, masses add up, the model is itself again afterwards."""

import numpy as np
import pytest
import torch

import armillary as arm
from armillary.errors import RequestError
from armillary.prompts.examples import fewshot
from armillary.prompts.fewshot import fewshot_answers, shot_index

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def view():
    return arm.load("smollm2")


@pytest.fixture(scope="module")
def found(view):
    return fewshot_answers(view, [1, 2], words=["river", "moon\x07"], tokens=4)


def test_every_token_of_an_example_knows_it(view):
    asked = fewshot("river", 3)
    ids, index = shot_index(view, asked)
    for number, (start, end) in enumerate(asked.spans):
        assert view.tokenizer.decode(ids[index == number]).strip() == asked.text[start:end].strip()
    assert view.tokenizer.decode(ids[index < 0]).endswith("Word: river\nClue:")


def test_where_examples_look_adds_up_to_one_in_model_and_twin(found):
    for ending in ("", "_null"):
        total = sum(found[f"mass_{name}{ending}"] for name in ("diagonal", "within", "across", "outside"))
        assert total.dims == ("shots", "block")
        assert np.allclose(total, 1, atol=1e-5)
    assert np.allclose(found.mass_across.sel(shots=1), 0)
    assert (found.mass_within_se >= 0).all()
    assert not np.allclose(found.mass_within, found.mass_within_null, atol=0.01)


def test_answers_are_one_escaped_line_and_those_of_the_model(view, found):
    lines = found.continuation.values.ravel()
    assert all("\n" not in line for line in lines)
    assert found.word.values.tolist() == ["river", "moon\\x07"]
    own = arm.continuation(view, fewshot("river", 2).text, 4).strip().split("\n")[0].strip()
    assert str(found.continuation.sel(shots=2, word="river").item()) == own


def test_the_model_is_itself_again(view, found):
    fresh = arm.load("smollm2", check=False)
    for mine, theirs in zip(view.model.parameters(), fresh.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_an_encoder_and_an_empty_task_are_refused(view):
    with pytest.raises(RequestError, match="expected a causal language model"):
        fewshot_answers(arm.load("minilm"), [1], words=["river"])
    with pytest.raises(RequestError, match="expected at least one word and one number of shots"):
        fewshot_answers(view, [])

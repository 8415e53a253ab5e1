"""Addition: problems are right, tests are never trained on, and exact match is what writing greedily gives."""

import numpy as np
import pytest
import torch

from armillary.training.presets import settings_of
from armillary.training.shapes import fresh_model
from armillary.training.tasks.addition import addition_task, drawn, for_tests, judgement, written
from armillary.training.tasks.kinds import IGNORED, grouped_loss

SMALL = {"layers": 1, "heads": 2, "width": 16, "steps": 20, "batch": 8, "problems": 40}


@pytest.fixture(scope="module")
def task():
    return addition_task(settings_of("addition", answers="plain", **SMALL))


def shown(task, row):
    return task.tokenizer.decode([token for token in row if token != task.tokenizer.pad_token_id])


def test_examples_are_true_sums_of_the_trained_lengths_with_the_answer_labelled(task):
    lengths = set()
    for number in range(len(task.examples)):
        example = task.examples[number]
        question, answer = shown(task, example["input_ids"].tolist()).split("=")
        one, other = question.split("+")
        assert int(one) + int(other) == int(answer)
        assert len(one) == len(other) == len(answer) - 1
        labels = [token for token in example["labels"].tolist() if token != IGNORED]
        assert task.tokenizer.decode(labels) == answer
        lengths.add(len(one))
    assert lengths == {2, 3, 4}


def test_an_example_follows_from_its_number_however_it_is_asked_for(task):
    together = task.examples.__getitems__([3, 7])
    assert torch.equal(together[1]["input_ids"], task.examples[7]["input_ids"])


def test_tested_problems_are_never_trained_on():
    rng = np.random.default_rng(0)
    trained = drawn(rng, np.full(5000, 2), tested=False)
    tested = drawn(rng, np.full(5000, 2), tested=True)
    assert not set(zip(*map(np.ndarray.tolist, trained), strict=True)) & set(
        zip(*map(np.ndarray.tolist, tested), strict=True)
    )
    one, other = np.divmod(np.arange(10_000), 100)
    assert for_tests(one, other).mean() == pytest.approx(1 / 16, abs=4 * np.sqrt(1 / 16 / 10_000))


def test_numbers_have_as_many_digits_as_asked_for():
    one, other = drawn(np.random.default_rng(1), np.repeat([1, 3, 17], 300), tested=None)
    for numbers in (one, other):
        assert [len(str(number)) for number in numbers.tolist()] == [1] * 300 + [3] * 300 + [17] * 300


def test_sparse_problems_have_lost_half_of_their_digits():
    sparse = np.arange(8000) % 2 == 0
    pair = drawn(np.random.default_rng(2), np.full(8000, 3), tested=False, sparse=sparse)
    assert not for_tests(*pair).any()
    for numbers in pair:
        first, *rest = (numbers // place % 10 for place in (100, 10, 1))
        for digit in rest:
            assert (digit[sparse] == 0).mean() == pytest.approx(0.55, abs=0.035)  # half, and a tenth of the others
            assert (digit[~sparse] == 0).mean() == pytest.approx(0.1, abs=0.02)
        assert first.min() == 1
        assert (first[sparse] == 1).mean() == pytest.approx(1 / 2 + 1 / 18, abs=0.035)
    plain = drawn(np.random.default_rng(2), np.full(8000, 3), tested=False)
    alike = drawn(np.random.default_rng(2), np.full(8000, 3), tested=False, sparse=None)
    np.testing.assert_array_equal(plain, alike)


def test_reversed_answers_begin_with_the_units():
    numbers = np.array([95]), np.array([17]), np.array([2])
    assert written(*numbers, reverse=False) == ["95+17=112"]
    assert written(*numbers, reverse=True) == ["95+17=211"]
    assert written(np.array([5]), np.array([1]), np.array([2]), reverse=False) == ["05+01=006"]


def test_exact_match_is_what_generating_greedily_gives(task):
    settings = settings_of("addition", **SMALL)
    model = fresh_model(settings, len(task.tokenizer), task.length, 0).eval()
    # A model that has learnt a little: untrained ones are wrong on every problem.
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    tokens = torch.tensor([task.tokenizer.encode("3+4=07"), task.tokenizer.encode("2+2=04")])
    for _ in range(60):
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    ids = np.array([task.tokenizer.encode(text) for text in ("3+4=07", "2+2=04", "9+9=18", "8+9=17")])
    labels = np.where(np.arange(6) >= 4, ids, IGNORED)
    found = judgement(model, {1: (ids, labels)}, range(1, 2))
    question = torch.from_numpy(ids[:, :4])
    generated = model.generate(
        question, attention_mask=torch.ones_like(question), max_new_tokens=2, min_new_tokens=2, do_sample=False
    )
    exact = float((generated[:, 4:].numpy() == ids[:, 4:]).all(1).mean())
    assert 0 < exact < 1
    assert found["eval_accuracy_1"] == exact
    assert found["eval_loss"] == pytest.approx(
        float(model(input_ids=torch.from_numpy(ids), labels=torch.from_numpy(labels)).loss.detach()), rel=1e-5
    )


def test_the_error_of_a_loss_is_that_of_independent_stretches():
    rng = np.random.default_rng(2)
    labels = np.zeros((64, 11), dtype=np.int64)
    found = [grouped_loss(rng.normal(size=(64, 10)), labels) for _ in range(300)]
    spread = np.std([each["eval_loss"] for each in found])
    assert np.sqrt(np.mean([each["eval_loss_se"] ** 2 for each in found])) == pytest.approx(spread, rel=0.12)


def test_lengths_outside_training_are_tested_on_distinct_problems(task):
    assert task.about["problems_1"] <= 40
    assert task.about["problems_5"] == 40
    assert task.length == 18
    assert all(text.count("=") == 1 for text in task.heldout())

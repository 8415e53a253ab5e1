"""A text as a task: windows of its beginning, validation on its end, and tokenizers that give the text back."""

import numpy as np
import pytest
import torch

from armillary.errors import RequestError
from armillary.training.presets import settings_of
from armillary.training.shapes import fresh_model
from armillary.training.tasks.text import text_task

SMALL = {"layers": 1, "heads": 2, "width": 16, "steps": 4, "batch": 4, "context": 8}
TEXT = "".join(f"line {number}: the quick brown fox, naïve and {number * 79 % 101} years\n" for number in range(60))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("tokens", ["characters", "bpe"])
def test_examples_are_windows_of_the_beginning_and_what_is_kept_is_the_end(path, tokens):
    task = text_task(settings_of("shakespeare-chars", corpus=path, tokens=tokens, vocabulary=300, **SMALL))
    cut = round(len(TEXT) * 0.9)
    assert list(task.heldout()) == [TEXT[cut:]]
    if tokens == "characters":
        for number in range(len(task.examples)):
            assert task.tokenizer.decode(task.examples[number]["input_ids"]) in TEXT[:cut]
    assert task.tokenizer.decode(task.tokenizer(TEXT)["input_ids"]) == TEXT
    assert len(task.tokenizer) <= 300


def test_the_loss_kept_is_the_models_own_on_these_windows(path):
    settings = settings_of("shakespeare-chars", corpus=path, **SMALL)
    task = text_task(settings)
    model = fresh_model(settings, len(task.tokenizer), task.length, 0).eval()
    cut = round(len(TEXT) * 0.9)
    ids = torch.tensor(task.tokenizer(TEXT[cut:])["input_ids"])
    windows = ids[: len(ids) // 8 * 8].reshape(-1, 8)
    assert task.judged(model)["eval_loss"] == pytest.approx(
        float(model(input_ids=windows, labels=windows).loss.detach()), rel=1e-5
    )
    assert np.isfinite(task.judged(model)["eval_loss_se"])


def test_a_corpus_smaller_than_one_batch_is_refused(tmp_path):
    short = tmp_path / "short.txt"
    short.write_text("abc" * 10, encoding="utf-8")
    with pytest.raises(RequestError) as caught:
        text_task(settings_of("shakespeare-chars", corpus=str(short)))
    assert str(caught.value) == (
        "expected at least 768 tokens to learn (12 windows of 64), got 27 in "
        f"{str(short)!r}: give a longer text, or a smaller --batch or --context"
    )
    short.write_text("abc" * 100, encoding="utf-8")
    with pytest.raises(RequestError, match="expected at least 64 tokens for validation, got 30: give a longer text"):
        text_task(settings_of("shakespeare-chars", corpus=str(short), batch=2))


def test_what_is_no_text_is_refused():
    with pytest.raises(RequestError, match="expected a corpus of texts to learn, got 'random-tokens': choose a text"):
        text_task(settings_of("shakespeare-chars", corpus="random-tokens"))

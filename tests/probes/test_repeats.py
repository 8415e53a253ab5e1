"""Windows of repeated tokens, and the scores of heads on them."""

import numpy as np
import pytest

from armillary.errors import RequestError
from armillary.probes.repeats import repeat_scores, repeated_windows

EVERY = np.arange(60)[None]


def test_scores_of_a_model_that_attends_alike_everywhere_are_one_over_the_keys(random_model):
    view = random_model(1)
    for block in view.blocks:
        block.self_attn.q_proj.weight.data.zero_()
    tokens = repeated_windows(view, EVERY, (7,), windows=3, copy=10)
    found = repeat_scores(view, tokens, 1, batch=2)
    assert found.shape == (3, 3, 8, 3)
    assert np.allclose(found, np.mean(1 / np.arange(12, 22)), atol=1e-6)


def test_repeated_windows_hold_two_copies_after_the_prefix_and_repeat_nothing_within(random_model):
    view = random_model(2)
    tokens = repeated_windows(view, EVERY, (5,), seed=3)
    assert tokens.shape == (8, 79)
    assert (tokens[:, 0] == 5).all()
    assert np.array_equal(tokens[:, 1:40], tokens[:, 40:])
    assert all(len(set(row)) == 39 for row in tokens[:, 1:40].tolist())
    assert 5 not in tokens[:, 1:]
    assert np.array_equal(tokens, repeated_windows(view, EVERY, (5,), seed=3))
    assert not np.array_equal(tokens, repeated_windows(view, EVERY, (5,), seed=4))


def test_a_model_of_too_short_windows_is_refused(random_model):
    view = random_model(3, max_position_embeddings=7)
    with pytest.raises(
        RequestError, match=r"expected room for 4 repeated tokens, .* at most 7 tokens .* cannot be named"
    ):
        repeated_windows(view, EVERY)


def test_tokens_are_those_of_the_text_and_a_text_of_few_is_refused(random_model):
    view = random_model(4)
    text = np.array([[9, 11, 13, 15, 17], [9, 11, 13, 17, 19]])
    tokens = repeated_windows(view, text, (9,))
    assert tokens.shape == (8, 11)
    assert set(tokens[:, 1:].ravel().tolist()) == {11, 13, 15, 17, 19}
    with pytest.raises(RequestError, match=r"got .* and 3 different tokens in the text: the heads .* cannot be named"):
        repeated_windows(view, text[:1], (9, 11))

"""A model changed and unchanged on one text: what is compared with what, and that the model is as it was."""

import numpy as np
import pytest
import torch

import armillary as arm
from armillary.models.interventions import Change
from armillary.prompts.variants import name_of, variants

TEXT = np.array([5, 9, 5, 9, 5, 9, 3])


@pytest.fixture(scope="module")
def found(tiny_llama):
    changes = [Change(alpha=1.0), Change(alpha=0.5), Change(without=(1, 0))]
    return variants(tiny_llama, TEXT, changes, 0)


def test_the_model_as_it_is_comes_first_and_alpha_1_is_not_repeated(found):
    assert [each.name for each in found] == ["as it is", "α = 0.5", "without L1H0"]
    assert found[0].divergence == 0
    assert not found[0].moved.any()


def test_scores_go_with_alpha_squared_in_the_first_block(found):
    assert np.allclose(found[1].maps.logits.values[0], found[0].maps.logits.values[0] / 4, rtol=1e-4, atol=1e-6)


def test_a_silenced_head_changes_no_map_of_its_own_block(found):
    assert found[2].moved[:2].max() < 1e-6
    assert found[2].divergence > 0


def test_the_divergence_is_that_of_the_model_s_own_next_tokens(found, tiny_llama):
    with torch.inference_mode():
        before = tiny_llama.model(torch.from_numpy(TEXT)[None]).logits[0, -1].double().log_softmax(-1)
        with arm.scaled(tiny_llama, 0.5):
            after = tiny_llama.model(torch.from_numpy(TEXT)[None]).logits[0, -1].double().log_softmax(-1)
    expected = float((before.exp() * (before - after)).sum())
    assert np.isclose(found[1].divergence, expected, rtol=1e-3, atol=1e-7)


def test_attention_that_moved_is_half_the_sum_of_differences(found):
    gap = np.abs(found[1].maps.pattern.values - found[0].maps.pattern.values).sum(-1) / 2
    assert np.allclose(found[1].moved, gap.mean(axis=(1, 2)))
    assert 0 < found[1].moved.max() <= 1


def test_a_change_has_a_name():
    assert name_of(Change(alpha=2.0, without=(3, 1))) == "α = 2, without L3H1"

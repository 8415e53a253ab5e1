"""When logits and cosines agree, and from which layer on a token stays the likeliest."""

import numpy as np
import pytest

from armillary.measures.sphere.decoding import argmax_agreement, row_variation, settled_layer

RNG = np.random.default_rng(0)


def both(states, rows):
    """The likeliest token of each state by logit, and by cosine with the unembedding's rows."""
    logits = states @ rows.T
    return logits.argmax(1), (logits / np.linalg.norm(rows, axis=1)).argmax(1)


def test_rows_of_one_length_give_the_same_token_by_logit_and_by_cosine():
    rows = RNG.normal(size=(50, 8))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    by_logit, by_cosine = both(RNG.normal(size=(200, 8)), rows)
    found = argmax_agreement(by_logit, by_cosine, np.arange(200) % 8)
    assert found == (1, 0)
    assert row_variation(np.linalg.norm(rows, axis=1)) == pytest.approx(0, abs=1e-12)


def test_rows_of_unequal_length_do_not():
    rows = RNG.normal(size=(50, 8)) * RNG.uniform(0.2, 3, (50, 1))
    by_logit, by_cosine = both(RNG.normal(size=(400, 8)), rows)
    group = np.arange(400) % 8
    found = argmax_agreement(by_logit, by_cosine, group)
    equal = by_logit == by_cosine
    assert found.argmax_agreement == pytest.approx(equal.mean())
    means = np.array([equal[group == each].mean() for each in range(8)])
    assert found.argmax_agreement_se == pytest.approx(means.std(ddof=1) / np.sqrt(8))
    assert 0 < found.argmax_agreement < 1


def test_with_few_groups_there_is_no_error_and_an_empty_group_is_left_out():
    one = argmax_agreement(np.array([1, 2, 3]), np.array([1, 2, 4]), np.zeros(3, dtype=int))
    assert one.argmax_agreement == pytest.approx(2 / 3)
    assert np.isnan(one.argmax_agreement_se)
    group = np.array([0, 1, 3, 4, 5])
    assert np.isfinite(argmax_agreement(np.arange(5), np.array([0, 1, 2, 3, 9]), group).argmax_agreement_se)


def test_rows_of_length_zero_have_no_variation():
    assert np.isnan(row_variation(np.zeros(4)))


def test_a_token_settles_in_the_layer_after_the_last_other_one():
    top = np.array([[7, 1, 5], [7, 2, 5], [3, 9, 5], [7, 2, 5], [7, 4, 5]])
    assert settled_layer(top).tolist() == [3, 4, 0]

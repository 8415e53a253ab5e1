"""Bigram entropy: of a Markov chain whose entropy is known, and of texts in which nothing is left to guess."""

import numpy as np
import pytest

from armillary.measures.ngrams import bigram_entropy


def test_a_markov_chain_has_the_entropy_of_its_transitions():
    rng = np.random.default_rng(0)
    stay = np.array([0.9, 0.6])
    states = [0]
    for draw in rng.random(40_000):
        states.append(states[-1] if draw < stay[states[-1]] else 1 - states[-1])
    stationary = np.array([0.4, 0.1]) / 0.5
    entropy = -(stay * np.log(stay) + (1 - stay) * np.log(1 - stay))
    assert bigram_entropy(np.array(states)) == pytest.approx(float(stationary @ entropy), abs=0.01)


def test_what_follows_from_the_token_before_has_no_entropy():
    assert bigram_entropy(np.tile([3, 70, 5], 200)) == pytest.approx(0, abs=1e-12)


def test_a_single_token_has_none():
    assert np.isnan(bigram_entropy(np.array([1])))

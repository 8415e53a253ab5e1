"""Shares of one prompt: they add up, and find what was put in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.measures.decomposition import layer_split


@given(st.integers(0, 999), st.integers(1, 12), st.integers(2, 6))
def test_shares_add_up_to_one(seed, length, width):
    rng = np.random.default_rng(seed)
    states, basis = rng.normal(size=(2, length, width))
    assert layer_split(states, rng.normal(size=width), basis).sum() == pytest.approx(1)


def test_parts_that_are_orthogonal_have_the_shares_of_their_energies():
    position, context, rest = np.zeros((3, 4, 3))
    position[:, 0] = [1, -1, 1, -1]
    context[:, 1] = 2
    rest[:, 2] = [3, -3, -3, 3]
    mean = np.array([5.0, 6.0, 7.0])
    assert np.allclose(layer_split(mean + position + context + rest, mean, position), np.array([1, 4, 9]) / 14)


def test_states_that_are_all_the_mean_have_no_shares():
    assert np.isnan(layer_split(np.ones((3, 2)), np.ones(2), np.zeros((3, 2)))).all()

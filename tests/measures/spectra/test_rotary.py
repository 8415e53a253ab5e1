"""Energy by plane: shares that add up to 1, whatever the scale, and find the plane that holds all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.measures.spectra.rotary import rotary_energy


@given(st.floats(1e-3, 1e3), st.integers(1, 5))
def test_shares_add_up_to_1_whatever_the_scale(scale, planes):
    W_Q, W_K = np.random.default_rng(0).standard_normal((2, 12, 2 * planes))
    shares = rotary_energy(W_Q, W_K, 2 * planes)
    assert shares.sum() == pytest.approx(1)
    assert rotary_energy(scale * W_Q, W_K, 2 * planes) == pytest.approx(shares)


def test_a_plane_is_the_coordinate_p_of_each_half():
    W_Q, W_K = np.zeros((2, 7, 8))
    W_Q[:, 2], W_K[:, 6] = 1.0, 3.0
    assert rotary_energy(W_Q, W_K, 8).tolist() == [0, 0, 1, 0]


def test_a_zero_head_has_no_energy_to_share():
    assert np.isnan(rotary_energy(np.zeros((5, 4)), np.ones((5, 4)), 4)).all()


def test_coordinates_that_are_not_rotated_do_not_count():
    W_Q, W_K = np.random.default_rng(1).standard_normal((2, 6, 10))
    partial = rotary_energy(W_Q, W_K, 4)
    assert partial == pytest.approx(rotary_energy(W_Q[:, :4], W_K[:, :4], 4))

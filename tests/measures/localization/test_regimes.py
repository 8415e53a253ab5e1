"""Regimes against the limits of the corrected window, and middle focus against the softmax of simulated walks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.measures.localization.law import published_rho
from armillary.measures.localization.regimes import plane_shares, regimes, window
from armillary.measures.localization.simulation import simulated_walks
from armillary.measures.localization.walk import moments, offsets


def regime_at(xi, eta, length):
    below, rho, _ = plane_shares(xi, eta, length)
    return regimes(below, rho)


@given(
    length=st.integers(5, 2000),
    factor=st.sampled_from([0.5, 0.95, 1.05, 3.0]),
    sign=st.sampled_from([-1, 1]),
    limit=st.sampled_from(["lower", "upper"]),
)
def test_without_noise_the_names_change_at_the_limits_of_the_window(length, factor, sign, limit):
    trace = sign * factor * (2 / (length - 1) if limit == "lower" else 2)
    found = regime_at(1e9 * sign, np.abs(trace) / 1e9, length).regime
    side = "late" if sign > 0 else "early"
    if abs(trace) < 2 / (length - 1):
        assert found == "uniform"
    elif abs(trace) <= 2:
        assert found == side
    else:
        assert found == "middle"


@given(trace=st.floats(-9, 9), length=st.integers(2, 300))
def test_the_window_holds_the_positions_whose_mean_lies_between_0_and_1(trace, length):
    first, last = window(trace, length)
    mean, u = moments(trace, 1.0, 1.0, length).mean, offsets(length)
    clear = (np.abs(mean) > 1e-9) & (np.abs(mean - 1) > 1e-9)
    np.testing.assert_array_equal(((mean >= 0) & (mean <= 1))[clear], ((u >= first) & (u <= last))[clear])


@pytest.mark.parametrize(
    ("xi", "eta", "length", "regime"),
    [
        (10.0, 0.1, 1000, "late"),
        (-10.0, 0.1, 1000, "early"),
        (10.0, 0.7, 1000, "middle"),
        (-10.0, 0.7, 1000, "middle"),
        (0.0, 0.3, 1000, "uniform"),
        (0.0, 3.0, 1000, "middle"),
        (0.0, 50.0, 1000, "vanishing"),
        (10.0, 0.001, 40, "uniform"),
        (10.0, 0.001, 100_000, "late"),
    ],
)
def test_each_regime_has_its_place_on_the_plane(xi, eta, length, regime):
    assert regime_at(xi, eta, length).regime == regime


def test_heads_are_named_together_and_nan_has_no_name():
    xi, eta = np.array([[10.0, -10.0, np.nan]]), np.array([[0.1, 0.1, 0.1]])
    found = regime_at(xi, eta, 100)
    assert found.regime.tolist() == [["late", "early", ""]]
    assert found.clipped.tolist() == [[False, False, False]]


@given(xi=st.floats(-30, 30), eta=st.floats(1e-3, 30), length=st.integers(2, 500))
@settings(max_examples=150)
def test_every_middle_focus_of_a_gaussian_walk_is_made_by_clipping(xi, eta, length):
    found = regime_at(xi, eta, length)
    assert found.clipped == (found.regime == "middle")


def test_a_middle_focus_with_no_attention_at_the_ends_is_not_clipped():
    hump = np.array([0.01, 0.3, 0.9, 0.3, 0.01])
    assert not regimes(1 - hump, hump).clipped
    assert regimes(0 * hump, hump).clipped
    assert regimes(1 - hump, hump).regime == "middle"


@pytest.mark.parametrize(("mean", "end", "other"), [(0.5, -1, 0), (-0.5, 0, -1)])
def test_where_clipping_makes_a_middle_focus_the_softmax_focuses_on_an_end(mean, end, other):
    found = simulated_walks(mean, 0.1, walks=1000, seed=3)
    regime = regime_at(found.xi, found.eta, 40)
    assert regime.regime == "middle"
    assert regime.clipped
    assert 8 <= np.argmax(found.rho) <= 32
    assert found.rho[[0, -1]].max() < 0.02
    assert found.probability[end] > 0.85
    assert found.probability[other] < 0.01
    assert np.argmax(found.slope) == end % 40


def test_a_head_without_trace_is_not_uniform_at_every_eta():
    # At ξ = 0 and large T, ρ = ½ erf(1/(η √(2V))) with V = 7/12 at the ends and 1/12 in the middle.
    rho = plane_shares(0.0, 1.0, 100_000).rho
    published = published_rho(0.0, 1.0, 100_000)
    assert rho[[0, 50_000, -1]] == pytest.approx([0.405, 0.5, 0.405], abs=0.002)
    assert published[[0, 50_000, -1]] == pytest.approx([0.405, 0.332, 0.233], abs=0.002)

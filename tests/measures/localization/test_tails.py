"""Tails of weighted sums of squared normals against closed forms and against Gil-Pelaez' integral on the real axis."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from armillary.measures.localization.tails import contour_of, saddle_point, upper_tail


@pytest.mark.parametrize("modes", [1, 2, 5, 50, 400])
def test_equal_weights_give_the_chi_square_tail(modes):
    thresholds = [1e-3, 0.05, 0.5, 1.0, 10.0, 30.0, 80.0]
    found = [upper_tail(np.full((1, modes), 0.3), x)[0] for x in thresholds]
    np.testing.assert_allclose(found, stats.chi2.sf(np.array(thresholds) / 0.15, modes), rtol=0, atol=1e-11)


@given(
    rates=st.lists(st.integers(-9, 9).filter(bool), min_size=1, max_size=5, unique=True),
    exponent=st.floats(-3, 3),
    threshold=st.sampled_from([1 / 1000, 1 / 40, 0.5, 39 / 40]),
)
@settings(max_examples=150)
def test_pairs_of_equal_weights_give_the_tail_of_a_sum_of_exponentials_of_both_signs(rates, exponent, threshold):
    means = np.array(rates) * 10**exponent
    expected = sum(
        np.exp(-threshold / mean) * np.prod([mean / (mean - other) for other in means if other != mean])
        for mean in means
        if mean > 0
    )
    assert upper_tail(np.repeat(means, 2)[None], threshold)[0] == pytest.approx(expected, abs=1e-9)


@given(seed=st.integers(0, 10_000), modes=st.integers(16, 300), mean=st.floats(-1, 1), scale=st.floats(0.02, 20))
@settings(max_examples=25)
def test_many_weights_give_the_integral_of_gil_pelaez(seed, modes, mean, scale):
    weights = np.random.default_rng(seed).normal(mean, 1, modes) * scale / np.sqrt(modes)

    def integrand(t):
        logarithm = np.log(1 - 1j * t * weights).sum()
        return (np.exp(-1j * t - logarithm / 2)).imag / t

    deviation = np.sqrt(np.sum(weights**2) / 2)
    ends = np.r_[1e-12, np.arange(1, 41)] / deviation
    parts = [integrate.quad(integrand, *pair, limit=200)[0] for pair in pairwise(ends)]
    assert upper_tail(weights[None], 1.0)[0] == pytest.approx(0.5 + sum(parts) / np.pi, abs=2e-6)


@given(seed=st.integers(0, 10_000), exponent=st.floats(-3, 3))
@settings(max_examples=40)
def test_both_tails_of_any_spectrum_add_up_to_no_more_than_1_and_meet_at_a_small_threshold(seed, exponent):
    rng = np.random.default_rng(seed)
    weights = (np.exp(2 * rng.standard_normal(30)) * rng.choice([-1, 1], 30))[None] * 10**exponent
    for threshold in (1e-9, 0.1, 1.0):
        both = upper_tail(weights, threshold)[0] + upper_tail(-weights, threshold)[0]
        assert both <= 1 + 1e-12
    smallest = 1e-9 * np.abs(weights).max()
    assert upper_tail(weights, smallest)[0] + upper_tail(-weights, smallest)[0] == pytest.approx(1, abs=1e-7)


def test_rows_do_not_depend_on_each_other():
    weights = np.random.default_rng(1).standard_normal((40, 12)) * np.geomspace(1e-3, 1e3, 40)[:, None]
    together = upper_tail(weights, 0.3)
    np.testing.assert_allclose(together, [upper_tail(row[None], 0.3)[0] for row in weights], atol=1e-12)


def test_the_contour_keeps_away_from_the_pole_and_the_cuts():
    weights = np.random.default_rng(2).standard_normal((200, 9)) * np.geomspace(1e-2, 1e2, 200)[:, None]
    saddle, lowest, highest = saddle_point(weights)
    tilted = weights / (1 - saddle[:, None] * weights)
    np.testing.assert_allclose(0.5 * tilted.sum(axis=1), 1, rtol=1e-5)
    contour = contour_of(weights)
    assert ((lowest < contour.crossing) & (contour.crossing < highest)).all()
    assert (np.abs(contour.crossing) > 0).all()
    assert (contour.scale > 0).all()


def test_weights_that_cannot_reach_the_threshold_have_no_tail_and_nan_stays_nan():
    weights = np.array([[0.0, 0.0], [-1.0, -2.0], [1e-200, -1.0], [np.nan, 1.0]])
    np.testing.assert_array_equal(upper_tail(weights, 0.5), [0, 0, 0, np.nan])


def test_a_threshold_of_0_is_refused():
    with pytest.raises(ValueError, match=r"expected a threshold above 0, got 0\.0: for a lower tail"):
        upper_tail(np.ones((1, 1)), 0.0)

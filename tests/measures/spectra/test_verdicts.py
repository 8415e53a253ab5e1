"""Claims about trained weights on weights whose truth is known: independent, aligned, fresh, pressed down."""

import numpy as np
import pytest

from armillary.measures.spectra.matrices import beside_initial
from armillary.measures.spectra.verdicts import aligned_like_random, beside_control, pressed_down


def spectra(scale, count=40, rows=48, columns=32, seed=0):
    rng = np.random.default_rng(seed)
    entries = np.sqrt(2 / (rows + columns)) * scale * rng.standard_normal((count, rows, columns))
    return np.linalg.svd(entries, compute_uv=False)


def initial(values):
    return np.array([beside_initial(each, 48, 32) for each in values]).T


def test_independent_factors_are_aligned_like_random_ones_and_aligned_ones_are_not():
    z = np.random.default_rng(1).standard_normal((12, 9))
    random = aligned_like_random(z)
    assert random.verdict == "holds"
    assert random.share < 0.05
    assert random.median == pytest.approx(0.674, abs=0.15)  # of a standard normal's size
    assert aligned_like_random(z + 9).verdict == "does not hold"
    assert aligned_like_random(np.where(np.arange(108).reshape(12, 9) % 2, z, 9.0)).verdict == "not determined"


def test_heads_whose_queries_and_keys_point_away_from_each_other_are_counted():
    assert aligned_like_random(np.repeat([9.0, -9.0, 0.0], [5, 2, 3])).share == pytest.approx(0.7)
    assert aligned_like_random(np.repeat([9.0, -9.0, 0.0], [5, 2, 3])).negative == pytest.approx(0.2)


def test_a_head_that_is_zero_says_nothing():
    z = np.array([[np.nan, 8.0, 9.0], [8.0, -9.0, 7.0], [8.0, -9.0, 7.0]])
    assert aligned_like_random(z).share == 1
    assert aligned_like_random(np.full(3, np.nan)).verdict == "not determined"


def test_half_the_size_is_pressed_down_twice_the_size_is_not_and_fresh_weights_are_neither():
    small, large, fresh = (pressed_down(*initial(spectra(scale))) for scale in (0.5, 2.0, 1.0))
    assert (small.verdict, large.verdict) == ("holds", "does not hold")
    assert small.energy == pytest.approx(0.25, rel=0.05)
    assert small.below == 1
    assert fresh.energy == pytest.approx(1, rel=0.05)
    assert 0.2 < fresh.below < 0.8


def test_beside_the_control_what_counts_is_the_size_of_the_control():
    energy, below = beside_control(spectra(0.5), spectra(0.25, seed=1))
    assert np.median(energy) == pytest.approx(4, rel=0.1)
    assert not below.any()
    assert pressed_down(*beside_control(spectra(0.2), spectra(0.5, seed=1))).verdict == "holds"


def test_what_lies_beyond_the_shorter_side_or_is_zero_does_not_count():
    own = np.array([[3.0, 1.0, np.nan], [1.0, 1.0, 1.0]])
    energy, below = beside_control(own, np.array([[2.0, 2.0, np.nan], [0.0, 0.0, 0.0]]))
    assert energy[0] == pytest.approx(10 / 8)
    assert below[0] == 0.5
    assert np.isnan([energy[1], below[1]]).all()
    assert pressed_down(energy[1:], below[1:]).verdict == "not determined"

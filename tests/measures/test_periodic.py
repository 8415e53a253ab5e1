"""Fourier factors of differences against numpy's transform, and the block of low frequencies."""

import numpy as np
import pytest

from armillary.measures.periodic import difference_factors, factor_bound, factor_bound_published, low_frequency_block
from armillary.measures.smoothness import cosines


def test_factors_turn_differences_back_into_coefficients():
    values = np.random.default_rng(0).standard_normal(20)
    through = difference_factors(20) * np.fft.fft(20 * (values - np.roll(values, 1)))
    assert through[1:] == pytest.approx(np.fft.fft(values)[1:])


def test_factors_meet_their_bound_and_exceed_the_published_one():
    frequency, sizes = np.arange(1.0, 32), np.abs(difference_factors(64)[1:32])
    assert (sizes <= factor_bound(frequency)).all()
    assert (sizes > factor_bound_published(frequency)).all()


def test_the_low_block_is_the_projection_on_cosines_and_the_published_one_is_not_real():
    basis = np.random.default_rng(1).standard_normal((10, 3))
    basis -= basis.mean(0)
    gram, frame = basis @ basis.T, cosines(10, 4)
    found = low_frequency_block(gram, 4)
    assert found.real == pytest.approx(frame @ (frame.T @ gram @ frame) @ frame.T, abs=1e-10)
    assert np.abs(found.imag).max() < 1e-10
    assert np.abs(low_frequency_block(gram, 4, "published").imag).max() > 0.01

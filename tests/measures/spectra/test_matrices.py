"""Whole matrices: singular values against numpy's, and what follows a NaN does not count."""

import numpy as np
import pytest

from armillary.measures.spectra.marchenko_pastur import marchenko_pastur
from armillary.measures.spectra.matrices import beside_initial, matrix_noise, power_law_tail, singular_values
from armillary.measures.spectra.power_law import power_law


@pytest.mark.parametrize("shape", [(30, 50), (50, 30), (20, 20)])
def test_singular_values_are_numpys(shape):
    W = np.random.default_rng(0).standard_normal(shape) * np.exp(-np.arange(shape[1]) / 10)
    expected = np.linalg.svd(W, compute_uv=False)
    assert singular_values(W) == pytest.approx(expected, abs=1e-7 * expected[0])


def test_values_after_the_shorter_side_do_not_count():
    values = singular_values(np.random.default_rng(1).standard_normal((80, 120)))
    padded = np.pad(values, (0, 40), constant_values=np.nan)
    assert matrix_noise(padded, 80, 120) == pytest.approx(marchenko_pastur(values, (80, 120)))
    assert power_law_tail(padded) == pytest.approx(power_law(values))


def test_a_zero_matrix_has_neither_noise_nor_tail():
    zero = np.zeros(60)
    assert np.isnan(matrix_noise(zero, 60, 60)).all()
    assert np.isnan(power_law_tail(zero)).all()


@pytest.mark.parametrize("shape", [(120, 120), (80, 240), (300, 60)])
def test_glorots_initialisation_has_its_own_energy_and_half_its_values_below(shape):
    rng, variance = np.random.default_rng(2), 2 / sum(shape)
    found = [beside_initial(singular_values(np.sqrt(variance) * rng.standard_normal(shape)), *shape) for _ in range(20)]
    assert np.mean([each.energy_initial for each in found]) == pytest.approx(1, abs=0.01)
    assert np.mean([each.below_initial for each in found]) == pytest.approx(0.5, abs=0.12)


def test_a_smaller_matrix_is_pressed_down_and_a_zero_one_has_no_spectrum():
    values = singular_values(np.random.default_rng(3).standard_normal((50, 70)) / np.sqrt(600))
    found = beside_initial(values, 50, 70)
    assert found.energy_initial == pytest.approx(0.1, rel=0.1)
    assert found.below_initial == 1
    assert np.isnan(beside_initial(np.zeros(9), 9, 9)).all()

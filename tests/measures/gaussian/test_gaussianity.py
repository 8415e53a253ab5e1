"""Skewness, kurtosis and the test of a normal law against scipy, and its power against simulation."""

import numpy as np
import pytest
from scipy import stats

from armillary.measures.gaussian.gaussianity import detectable_effect, normality, power_against, shape

RNG = np.random.default_rng(0)


def test_skewness_and_kurtosis_are_scipys():
    values = RNG.exponential(size=(3, 500))
    np.testing.assert_allclose(shape(values).skewness, stats.skew(values, axis=1))
    np.testing.assert_allclose(shape(values).excess_kurtosis, stats.kurtosis(values, axis=1))
    assert np.isnan(shape(np.ones(30)).skewness)


def test_normal_numbers_are_refused_once_in_twenty_and_exponential_ones_always():
    refused = [normality(RNG.standard_normal(200)).p_value < 0.05 for _ in range(400)]
    assert 0.02 < np.mean(refused) < 0.1
    assert normality(RNG.exponential(size=200)).p_value < 1e-6
    assert np.isnan(normality(np.ones(100)).p_value)
    assert np.isnan(normality(RNG.standard_normal(10)).power)


def test_the_power_grows_with_the_sample_and_is_the_level_for_a_law_that_is_nearly_normal():
    powers = [power_against(samples) for samples in (50, 200, 1000)]
    assert powers == pytest.approx([0.17, 0.38, 0.93], abs=0.06)
    assert power_against(200, 1e-6) == pytest.approx(0.05, abs=0.035)
    assert normality(RNG.standard_normal(200)).power == power_against(200)


def test_a_detectable_effect_is_found_in_four_of_five_corpora():
    rng = np.random.default_rng(1)
    effect = detectable_effect(0.3 / 4, 15)
    found = effect + 0.3 * rng.standard_normal((4000, 16))
    statistic = found.mean(1) / (found.std(1, ddof=1) / 4)
    assert np.mean(np.abs(statistic) > stats.t.ppf(0.975, 15)) == pytest.approx(0.8, abs=0.03)
    assert detectable_effect(0.1) == pytest.approx(0.28, abs=0.002)
    assert np.isnan(detectable_effect(0.1, 0.5))

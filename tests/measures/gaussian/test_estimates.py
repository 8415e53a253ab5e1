"""Estimates from samples of known Gaussians: no bias, errors that are right, and few samples refused."""

import mpmath
import numpy as np
import pytest
from scipy import stats

from armillary.measures.gaussian.estimates import (
    entropy_estimate,
    information_bias,
    information_estimate,
    log_determinant_bias,
    plug_in_information,
)
from armillary.measures.gaussian.information import gaussian_entropy

SIMULATIONS = 200


def correlated(rng, samples, size, rho):
    """Two blocks of `size` whose coordinates are correlated in pairs; the truth is −size/2 log(1 − ρ²)."""
    first = rng.standard_normal((samples, size))
    return first, rho * first + np.sqrt(1 - rho**2) * rng.standard_normal((samples, size))


def test_the_bias_of_the_log_determinant_is_the_digamma_sum():
    exact = sum(mpmath.digamma(mpmath.mpf(30 - k) / 2) for k in range(5)) - 5 * mpmath.log(15)
    assert log_determinant_bias(5, 30) == pytest.approx(float(exact), rel=1e-12)
    scatters = stats.wishart(30, np.eye(5)).rvs(20_000, random_state=0)
    logs = np.linalg.slogdet(scatters / 30)[1]
    assert abs(logs.mean() - log_determinant_bias(5, 30)) < 5 * logs.std() / np.sqrt(20_000)


def test_the_bias_of_mutual_information_is_near_pq_over_2n_for_many_samples():
    assert information_bias(8, 8, 4000) == pytest.approx(64 / 8000, rel=0.01)


@pytest.mark.parametrize("samples", [400, 2000])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_mutual_information_of_8_and_8_is_unbiased_and_lies_within_its_stated_error(samples, rho):
    rng = np.random.default_rng([samples, int(10 * rho)])
    truth = -4 * np.log(1 - rho**2)
    pairs = [correlated(rng, samples, 8, rho) for _ in range(SIMULATIONS)]
    found = np.array([information_estimate(*pair) for pair in pairs])
    plug_in = np.array([plug_in_information(*pair) for pair in pairs])
    errors = found[:, 0] - truth
    scatter = errors.std() / np.sqrt(SIMULATIONS)
    assert abs(errors.mean()) < 3.5 * scatter
    # 200 draws know the mean to `scatter` alone; both estimates share their draws, so the shift between them is exact.
    assert (plug_in - found[:, 0]).mean() == pytest.approx(information_bias(8, 8, samples - 1))
    assert 0.8 < found[:, 1].mean() / errors.std() < 1.25
    covered = np.mean(np.abs(errors) < 1.96 * found[:, 1])
    assert 0.9 <= covered <= 0.99


def test_the_bias_left_is_under_a_tenth_of_the_plug_ins():
    rng = np.random.default_rng(0)
    truth = -4 * np.log(1 - 0.25)
    pairs = [correlated(rng, 400, 8, 0.5) for _ in range(2000)]
    left = np.mean([information_estimate(*pair).value for pair in pairs]) - truth
    plug_in = np.mean([plug_in_information(*pair) for pair in pairs]) - truth
    assert abs(left) < plug_in / 10


def test_entropy_is_unbiased_and_its_error_is_exact():
    rng = np.random.default_rng(1)
    root = rng.standard_normal((6, 6))
    truth = gaussian_entropy(root @ root.T)
    found = np.array([entropy_estimate(rng.standard_normal((40, 6)) @ root.T) for _ in range(1000)])
    errors = found[:, 0] - truth
    assert abs(errors.mean()) < 4 * errors.std() / np.sqrt(1000)
    assert found[0, 1] == pytest.approx(errors.std(), rel=0.08)
    assert 0.9 <= np.mean(np.abs(errors) < 1.96 * found[:, 1]) <= 0.99


def test_too_few_samples_are_refused_with_the_number_needed():
    text = "expected at least 17 samples for 16 dimensions, got 10: add samples, or keep 9 directions at most"
    with pytest.raises(ValueError, match=text):
        information_estimate(np.zeros((10, 8)), np.zeros((10, 8)))
    with pytest.raises(ValueError, match="at least 4 samples for 3 dimensions"):
        entropy_estimate(np.zeros((3, 3)))

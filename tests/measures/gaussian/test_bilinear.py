"""Moments of xᵀCy against simulation with its standard error, and against cumulants."""

import numpy as np
import pytest
from scipy import stats

from armillary.measures.gaussian.bilinear import (
    bilinear_moments,
    bilinear_shape,
    energy_moments,
    pooled_moments,
    published_mean,
    published_random_variance,
    published_trace_variance,
    random_form_covariance,
    random_trace_moments,
    self_pair_moments,
    sphere_moments,
    turned_trace_variance,
)
from armillary.measures.gaussian.information import Gaussian
from armillary.measures.similarity import unit_vectors

RNG = np.random.default_rng(0)
DRAWS = 300_000
ROOT = RNG.standard_normal((7, 9))
LAW = Gaussian(RNG.standard_normal(7), ROOT @ ROOT.T / 7)
C = RNG.standard_normal((3, 4))


def agrees(values, moments, sigma=5):
    """Whether mean and variance of draws lie within some standard errors of what is predicted."""
    count, deviation = len(values), values.std()
    fourth = np.mean((values - values.mean()) ** 4)
    error = np.sqrt((fourth - deviation**4) / count)
    return (
        abs(values.mean() - moments.mean) < sigma * deviation / np.sqrt(count)
        and abs(deviation**2 - moments.variance) < sigma * error
    )


def drawn(law, count=DRAWS):
    return stats.multivariate_normal(law.mean, law.covariance).rvs(count, random_state=1)


def test_mean_and_variance_hold_for_dependent_vectors_of_different_widths_with_means():
    draws = drawn(LAW)
    values = np.einsum("si,ij,sj->s", draws[:, :3], C, draws[:, 3:])
    found = bilinear_moments(C, LAW)
    assert agrees(values, found)
    assert found == pytest.approx(bilinear_shape(C, LAW)[:2])


def test_the_published_mean_takes_the_wrong_cross_covariance():
    square = RNG.standard_normal((3, 3))
    law = Gaussian(LAW.mean[:6], LAW.covariance[:6, :6])
    draws = drawn(law)
    values = np.einsum("si,ij,sj->s", draws[:, :3], square, draws[:, 3:])
    error = values.std() / np.sqrt(DRAWS)
    assert abs(bilinear_moments(square, law).mean - values.mean()) < 5 * error
    assert abs(published_mean(square, law) - values.mean()) > 20 * error


def test_a_token_with_itself():
    square = RNG.standard_normal((3, 3))
    law = Gaussian(LAW.mean[:3], LAW.covariance[:3, :3])
    draws = drawn(law)
    found = self_pair_moments(square, law)
    assert agrees(np.einsum("si,ij,sj->s", draws, square, draws), found)
    # The pair (x, x) is jointly Gaussian too, with a singular covariance: the general formula holds.
    twice = Gaussian(np.tile(law.mean, 2), np.tile(law.covariance, (2, 2)))
    assert bilinear_moments(square, twice) == pytest.approx(found)


def test_pooled_over_places_the_variance_is_the_mean_of_those_at_each_place():
    square = RNG.standard_normal((3, 3))
    covariance = LAW.covariance[:6, :6]
    places = RNG.standard_normal((5, 6))
    each = [bilinear_moments(square, Gaussian(mean, covariance)) for mean in places]
    x, y = places[:, :3], places[:, 3:]
    blocks = (covariance[:3, :3], covariance[3:, 3:], covariance[3:, :3])
    found = pooled_moments(square, blocks, (x.T @ x / 5, y.T @ y / 5, y.T @ x / 5))
    assert (found.mean, found.variance) == pytest.approx(tuple(np.mean(each, axis=0)))
    alone = pooled_moments(square, (*blocks[:2], 0 * blocks[2]), (x.T @ x / 5, y.T @ y / 5, y.T @ x / 5))
    assert found.variance_independent == pytest.approx(alone.variance)


def test_skewness_and_excess_kurtosis_are_those_of_draws():
    draws = drawn(LAW)
    values = np.einsum("si,ij,sj->s", draws[:, :3], C, draws[:, 3:])
    found = bilinear_shape(C, LAW)
    batches = values.reshape(30, -1)
    for name, measure in (("skewness", stats.skew), ("excess_kurtosis", stats.kurtosis)):
        each = measure(batches, axis=1)
        assert abs(measure(values) - getattr(found, name)) < 5 * each.std() / np.sqrt(30)


def test_for_independent_white_vectors_the_excess_is_6_times_the_inverse_effective_rank():
    square = RNG.standard_normal((5, 5))
    gram = square.T @ square
    found = bilinear_shape(square, Gaussian(np.zeros(10), np.eye(10)))
    assert found.excess_kurtosis == pytest.approx(6 * np.trace(gram @ gram) / np.trace(gram) ** 2)
    assert found.skewness == pytest.approx(0)


@pytest.mark.parametrize("cosine", [-0.5, 0.0, 0.7, 1.0])
def test_vectors_on_spheres_at_a_fixed_angle(cosine):
    n, count = 6, 200_000
    square = RNG.standard_normal((n, n))
    first = unit_vectors(RNG.standard_normal((count, n)))
    second = RNG.standard_normal((count, n))
    second -= np.sum(second * first, axis=1, keepdims=True) * first
    second = cosine * first + np.sqrt(1 - cosine**2) * unit_vectors(second)
    values = np.einsum("si,ij,sj->s", 2 * first, square, 3 * second)
    assert agrees(values, sphere_moments(square, (2.0, 3.0), cosine))


def test_over_random_matrices_the_variance_of_a_score_does_not_know_the_angle():
    n, count = 8, 100_000
    matrices = RNG.standard_normal((count, n, n)) / np.sqrt(n)
    v, other = unit_vectors(RNG.standard_normal((2, n)))
    w = 0.9 * v + np.sqrt(1 - 0.81) * unit_vectors((other - (other @ v) * v)[None])[0]
    scores, others = matrices @ w @ v, matrices @ other @ v
    assert scores.var() == pytest.approx(random_form_covariance((v, w), (v, w), 1 / n), rel=0.03)
    assert random_form_covariance((v, w), (v, w), 1 / n) == pytest.approx(1 / n)
    assert abs(published_random_variance(n, 0.9) - scores.var()) > 0.05
    error = scores.std() * others.std() / np.sqrt(count)
    found = random_form_covariance((v, w), (v, other), 1 / n)
    assert abs(np.cov(scores, others)[0, 1] - found) < 6 * error


def test_traces_and_energies_of_random_matrices():
    entries, variance = 9, 0.5
    first, second = np.sqrt(variance) * RNG.standard_normal((2, 200_000, entries))
    traces = np.sum(first * second, axis=1)
    found = random_trace_moments(entries, variance)
    assert agrees(traces, found)
    assert stats.kurtosis(traces) == pytest.approx(found.excess_kurtosis, rel=0.1)
    assert agrees(np.sum(first**2, axis=1), energy_moments(entries, variance))


def test_at_given_spectra_only_the_energies_count():
    first, second = np.array([3.0, 1.0, 0.5]), np.array([2.0, 1.0, 0.2])
    turns = stats.ortho_group(3).rvs(40_000, random_state=0).reshape(4, 10_000, 3, 3)
    left, right = (turns[i] * values @ turns[i + 1] for i, values in ((0, first), (2, second)))
    traces = np.sum(left * right, axis=(1, 2))
    expected = turned_trace_variance(first, second)
    assert traces.var() == pytest.approx(expected, rel=0.05)
    assert turned_trace_variance(first, second[::-1]) == pytest.approx(expected)
    assert published_trace_variance(first, second) > 2 * expected

"""Gaussian information against scipy's densities, quadrature, and identities that must hold."""

import numpy as np
import pytest
from scipy import integrate, stats

from armillary.measures.gaussian.information import (
    Gaussian,
    canonical_correlations,
    cross_entropy,
    gaussian_entropy,
    jensen_shannon,
    kl_divergence,
    log_density,
    log_determinant,
    mutual_information,
    published_cross_entropy,
)


def a_law(seed, size=4):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((size, size + 3))
    return Gaussian(rng.standard_normal(size), root @ root.T / size)


P, Q = a_law(0), a_law(1)


def test_entropy_and_density_are_scipys():
    law = stats.multivariate_normal(P.mean, P.covariance)
    assert gaussian_entropy(P.covariance) == pytest.approx(law.entropy())
    points = np.random.default_rng(2).standard_normal((50, 4))
    np.testing.assert_allclose(log_density(points, P), law.logpdf(points))


def test_cross_entropy_is_the_mean_of_minus_log_q_and_the_published_one_is_too_large_by_half_of_d():
    draws = stats.multivariate_normal(P.mean, P.covariance).rvs(200_000, random_state=0)
    values = -stats.multivariate_normal(Q.mean, Q.covariance).logpdf(draws)
    error = values.std() / np.sqrt(len(values))
    assert abs(cross_entropy(P, Q) - values.mean()) < 5 * error
    assert abs(published_cross_entropy(P, Q) - values.mean()) > 15 * error
    assert published_cross_entropy(P, Q) - cross_entropy(P, Q) == pytest.approx(2)


def test_kl_of_a_law_with_itself_is_0_and_otherwise_cross_entropy_less_entropy():
    assert abs(kl_divergence(P, P)) < 1e-25
    assert kl_divergence(P, Q) == pytest.approx(cross_entropy(P, Q) - gaussian_entropy(P.covariance))


def test_kl_is_the_integral_in_one_dimension():
    p, q = Gaussian(np.array([0.3]), np.array([[0.5]])), Gaussian(np.array([-1.0]), np.array([[2.0]]))
    first, second = stats.norm(0.3, 0.5**0.5), stats.norm(-1, 2**0.5)
    expected, _ = integrate.quad(lambda x: first.pdf(x) * (first.logpdf(x) - second.logpdf(x)), -8, 8)
    assert kl_divergence(p, q) == pytest.approx(expected)


def test_an_invertible_map_changes_neither_kl_nor_mutual_information():
    turn = np.random.default_rng(3).standard_normal((4, 4))
    moved = [Gaussian(turn @ law.mean, turn @ law.covariance @ turn.T) for law in (P, Q)]
    assert kl_divergence(*moved) == pytest.approx(kl_divergence(P, Q))
    block = np.zeros((4, 4))
    block[:2, :2], block[2:, 2:] = turn[:2, :2], turn[2:, 2:]
    assert mutual_information(block @ P.covariance @ block.T, 2) == pytest.approx(mutual_information(P.covariance, 2))


def test_mutual_information_is_the_difference_of_entropies_and_the_sum_over_canonical_correlations():
    parts = gaussian_entropy(P.covariance[:1, :1]) + gaussian_entropy(P.covariance[1:, 1:])
    assert mutual_information(P.covariance, 1) == pytest.approx(parts - gaussian_entropy(P.covariance))
    correlations = canonical_correlations(P.covariance, 2)
    assert mutual_information(P.covariance, 2) == pytest.approx(-np.sum(np.log(1 - correlations**2)) / 2)


def test_mutual_information_of_two_numbers_is_known():
    assert mutual_information(np.array([[1, 0.6], [0.6, 1]]), 1) == pytest.approx(-np.log(1 - 0.36) / 2)


def test_jensen_shannon_agrees_with_the_integral_within_its_error_and_lies_below_log_2():
    p, q = Gaussian(np.zeros(1), np.eye(1)), Gaussian(np.array([1.5]), np.array([[4.0]]))
    first, second = stats.norm(0, 1), stats.norm(1.5, 2)

    def terms(x):
        a, b = first.pdf(x), second.pdf(x)
        m = (a + b) / 2
        return (a * np.log(a / m) + b * np.log(b / m)) / 2

    expected, _ = integrate.quad(terms, -12, 14, limit=200)
    found = jensen_shannon(p, q, draws=40_000)
    assert abs(found.value - expected) < 4 * found.se < 0.02
    assert jensen_shannon(P, P).value == pytest.approx(0, abs=1e-12)
    far = Gaussian(P.mean + 100, P.covariance)
    assert jensen_shannon(P, far).value == pytest.approx(np.log(2))


def test_a_singular_covariance_is_refused_with_its_rank_and_what_to_do():
    flat = np.diag([1.0, 2.0, 0.0])
    text = (
        "expected a positive definite covariance, got one of rank 2 in 3 dimensions: project to its 2 leading "
        "directions, or estimate it from more than 3 samples that differ"
    )
    with pytest.raises(ValueError, match=text):
        log_determinant(flat)
    with pytest.raises(ValueError, match="rank 1 in 2"):
        log_determinant(np.array([[1.0, 1.0], [1.0, 1.0]]))
    with pytest.raises(ValueError, match="rank 1 in 2"):
        gaussian_entropy(np.diag([1.0, -1.0]))

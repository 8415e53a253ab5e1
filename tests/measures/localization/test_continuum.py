"""ρ in the limit of many tokens: its limit, its slope by differences, and its bound."""

import numpy as np
import pytest

from armillary.measures.localization.continuum import (
    continuum_rho,
    place_variance,
    place_variance_published,
    rho_slope,
    rho_slope_bound_published,
    rho_slope_published,
    vanishing_bound,
)
from armillary.measures.localization.law import gaussian_shares, published_rho
from armillary.measures.localization.walk import moments

THETA = np.linspace(0.05, 1, 20)


def test_it_is_the_limit_of_the_law_of_finite_walks():
    many = 1_000_000
    exact = gaussian_shares(*moments(3.0, 2.0, 2.0, many, (THETA * many).astype(int))).rho
    found = continuum_rho(THETA, 3 / np.sqrt(2), np.sqrt(2), place_variance(THETA))
    assert found == pytest.approx(exact, abs=1e-5)


def test_with_the_published_variance_it_is_equation_6():
    found = continuum_rho(THETA, 3 / np.sqrt(2), np.sqrt(2), place_variance_published(THETA))
    assert found == pytest.approx(published_rho(3.0, 2.0, 20, np.arange(1, 21)), abs=1e-12)


@pytest.mark.parametrize("theta", [0.2, 0.5, 0.9])
def test_the_slope_is_that_of_the_curve(theta):
    step = 1e-6
    ends = np.array([theta + step, theta - step])
    high, low = continuum_rho(ends, 1.5, 0.7, place_variance(ends))
    found = rho_slope(theta, 1.5, 0.7, place_variance(theta), 4 * theta - 2)
    assert found == pytest.approx((high - low) / (2 * step), abs=1e-7)


def test_the_published_slope_is_another_and_its_bound_does_not_hold():
    true = rho_slope(0.7, 0.01, 1.0, place_variance_published(0.7), 2.8)
    assert abs(true) > 10 * rho_slope_bound_published(0.7, 0.01, 1.0)
    assert rho_slope_published(0.7, 1.0, 1.0) == pytest.approx(0.135, abs=1e-3)


def test_the_signal_vanishes_at_least_as_fast_as_the_bound():
    for eta in (1.0, 10.0, 1000.0):
        bound = vanishing_bound(eta, place_variance(THETA))
        assert (continuum_rho(THETA, 2.0, eta, place_variance(THETA)) <= bound * (1 + 1e-9)).all()

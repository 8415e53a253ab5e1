"""F₁ as a determinant against Painlevé II, published percentage points and published moments."""

import numpy as np
import pytest
from numpy.polynomial import legendre
from scipy.integrate import quad, solve_ivp
from scipy.special import airy

from armillary.measures.spectra.tracy_widom import log_determinant, percentage_point, survival

JOHNSTONE = {
    0.01: -3.90,
    0.05: -3.18,
    0.1: -2.78,
    0.3: -1.91,
    0.5: -1.27,
    0.7: -0.59,
    0.9: 0.45,
    0.95: 0.98,
    0.99: 2.02,
}
"""Percentage points of F₁ to two decimals: Johnstone (2001), Annals of Statistics 29, table 1."""


@pytest.fixture(scope="module")
def painleve():
    """log F₁ by the formula of Tracy and Widom (1996): the solution of q″ = sq + 2q³ with q ~ Ai, from 8 down.

    log F₁(s) = −½ ∫ₛ^∞ q − ½ ∫ₛ^∞ (x − s) q², the integrals running beside q. At 8 they are those of Ai.
    """
    start = 8.0
    ai, slope = airy(start)[:2]
    mass = quad(lambda x: airy(x)[0], start, start + 12, epsabs=0, epsrel=1e-13)[0]
    square = slope**2 - start * ai**2
    moment = (2 * start**2 * ai**2 - 2 * start * slope**2 - ai * slope) / 3

    def step(s, state):
        q, dq, _, square, _ = state
        return [dq, s * q + 2 * q**3, -q, -(q**2), -square]

    solved = solve_ivp(
        step, (start, -6), [ai, slope, mass, square, moment], "DOP853", dense_output=True, rtol=1e-13, atol=1e-18
    )
    return lambda s: -(solved.sol(s)[2] + solved.sol(s)[4]) / 2


def test_the_law_is_that_of_painleve_ii(painleve):
    s = np.linspace(-5, 7.5, 200)
    assert survival(s) == pytest.approx(-np.expm1(painleve(s)), abs=1e-8)
    right = s[s > 0]
    assert survival(right) == pytest.approx(-np.expm1(painleve(right)), rel=1e-7)


def test_the_interpolant_is_the_determinant_with_many_more_nodes():
    s = np.linspace(-9.9, 18, 80)
    exact = -np.expm1(log_determinant(s, order=80, faded=22.0))
    assert survival(s) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("p", JOHNSTONE)
def test_percentage_points_are_the_published_ones(p, painleve):
    point = percentage_point(p)
    assert point == pytest.approx(JOHNSTONE[p], abs=0.0051)
    assert np.exp(painleve(point)) == pytest.approx(p, rel=1e-7)
    assert 1 - survival(point) == pytest.approx(p, abs=1e-12)


def test_the_99_percent_point_is_2_02345():
    assert percentage_point(0.99) == pytest.approx(2.02345, abs=1e-5)


def test_mean_variance_skewness_and_kurtosis_are_the_published_ones():
    # Bornemann (2010), Markov Processes and Related Fields 16, table 10. E Xⁿ = aⁿ + ∫ₐ n xⁿ⁻¹ P(X > x) dx.
    unit, weight = legendre.leggauss(120)
    x, weight = 5 + 15 * unit, 15 * weight
    raw = [(-10.0) ** n + np.sum(weight * n * x ** (n - 1) * survival(x)) for n in (1, 2, 3, 4)]
    mean = raw[0]
    variance = raw[1] - mean**2
    third = raw[2] - 3 * mean * raw[1] + 2 * mean**3
    fourth = raw[3] - 4 * mean * raw[2] + 6 * mean**2 * raw[1] - 3 * mean**4
    assert mean == pytest.approx(-1.206533574582, abs=1e-9)
    assert variance == pytest.approx(1.607781034581, abs=1e-9)
    assert third / variance**1.5 == pytest.approx(0.29346452408, abs=1e-8)
    assert fourth / variance**2 - 3 == pytest.approx(0.1652429384, abs=1e-8)


def test_far_to_the_right_the_survival_is_half_the_integral_of_airys_function():
    for x in (8.0, 20.0, 60.0):
        half = quad(lambda t: airy(t)[0] / 2, x, x + 40 / np.sqrt(x), epsabs=0, epsrel=1e-12)[0]
        assert survival(x) == pytest.approx(half, rel=1e-9)


def test_the_survival_falls_everywhere_from_1_to_0():
    s = survival(np.linspace(-6, 100, 5000))
    assert (np.diff(s) < 0).all()
    assert survival(np.array([-np.inf, -50, 120, np.inf])) == pytest.approx([1, 1, 0, 0], abs=1e-300)
    assert np.isnan(survival(np.nan))


def test_percentage_points_rise_and_go_back_to_their_levels():
    levels = np.array([1e-9, 1e-4, 0.2, 0.5, 0.8, 1 - 1e-4, 1 - 1e-9])
    points = np.array([percentage_point(level) for level in levels])
    assert (np.diff(points) > 0).all()
    assert 1 - survival(points) == pytest.approx(levels, abs=1e-12)


@pytest.mark.parametrize("p", [-0.1, 0.0, 1.0, 1.5, np.nan])
def test_levels_outside_0_to_1_have_no_point(p):
    assert np.isnan(percentage_point(p))


def test_shapes_are_kept():
    assert survival(0.0).shape == ()
    assert survival(np.zeros((2, 3))).shape == (2, 3)
    assert survival(np.array([[0.0, 50.0]])).shape == (1, 2)

"""The power-law fit against the powerlaw package; its interval against tails whose exponent is known."""

import numpy as np
import powerlaw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.measures.spectra.power_law import FEWEST, power_law

BODIES = {
    "a bulk of a square matrix": (lambda rng, size: rng.beta(0.5, 1.5, size), 0.3),
    "a half circle": (lambda rng, size: rng.beta(1.5, 1.5, size), 0.3),
    "an exponential": (lambda rng, size: -np.log(1 - rng.uniform(size=size) * (1 - np.exp(-2.5))) / 2.5, 0.2),
    "none": (lambda rng, size: np.ones(size), 1.0),
}
"""What lies below the tail, between 0 and 1, and the share of the tail."""


def spectrum(rng, size, alpha, name):
    """Singular values whose squares are Pareto of exponent alpha from 1 on, above a body of another law."""
    body, share = BODIES[name]
    tail = int(rng.binomial(size, share))
    return np.sqrt(np.concatenate([body(rng, size - tail), rng.pareto(alpha - 1, tail) + 1]))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:powerlaw")  # its own use of a name that it is about to drop
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("seed", range(3))
def test_the_fit_is_that_of_the_powerlaw_package(name, seed):
    rng = np.random.default_rng(seed)
    values = spectrum(rng, int(rng.integers(60, 160)), rng.uniform(1.5, 4), name)
    squares = np.sort(values**2)
    # The package takes no beginning from the last value of its range on, and leaves out one more. By itself it refuses
    # exponents above 3.
    oracle = powerlaw.Fit(squares, xmin=(squares[0], squares[-8]), parameter_ranges={"alpha": [1, 1000]}, verbose=0)
    fit = power_law(values)
    assert fit.alpha == pytest.approx(oracle.alpha, rel=1e-9)
    assert fit.xmin == pytest.approx(oracle.xmin, rel=1e-9)
    assert fit.ks_distance == pytest.approx(oracle.D, rel=1e-9)
    assert fit.tail == np.count_nonzero(squares >= oracle.xmin)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("alpha", [2.0, 3.5])
def test_the_interval_holds_the_true_exponent(name, alpha):
    rng = np.random.default_rng(1)
    fits = [power_law(spectrum(rng, 200, alpha, name)) for _ in range(60)]
    assert np.mean([fit.alpha_low <= alpha <= fit.alpha_high for fit in fits]) >= 0.88


def test_the_interval_is_wider_than_if_the_beginning_of_the_tail_were_known():
    rng = np.random.default_rng(2)
    fits = [power_law(spectrum(rng, 200, 2.5, "a bulk of a square matrix")) for _ in range(10)]
    known = np.array([2 * 1.96 * (fit.alpha - 1) / np.sqrt(fit.tail) for fit in fits])
    assert np.mean([fit.alpha_high - fit.alpha_low for fit in fits] / known) > 1.2


def test_of_pure_power_laws_of_any_size_the_exponent_is_found_ever_more_closely():
    rng = np.random.default_rng(3)
    widths = []
    for size in (100, 1500):
        fit = power_law(spectrum(rng, size, 3.0, "none"))
        assert fit.alpha_low < 3 < fit.alpha_high
        widths.append(fit.alpha_high - fit.alpha_low)
    assert widths[1] < 0.6 * widths[0]


@given(seed=st.integers(0, 10_000), scale=st.floats(1e-20, 1e20))
@settings(max_examples=15)
def test_the_beginning_follows_the_scale_and_nothing_else_does(seed, scale):
    values = spectrum(np.random.default_rng(seed), 60, 2.5, "a half circle")
    fit, scaled = power_law(values, resamples=20), power_law(values * scale, resamples=20)
    assert scaled.xmin == pytest.approx(fit.xmin * scale**2)
    assert scaled._replace(xmin=0) == pytest.approx(fit._replace(xmin=0), rel=1e-6)


def test_the_exponent_lies_in_its_interval_and_the_tail_holds_ten_values_or_more():
    rng = np.random.default_rng(4)
    for name in BODIES:
        fit = power_law(spectrum(rng, 100, 2.0, name))
        assert 1 < fit.alpha_low < fit.alpha < fit.alpha_high
        assert 10 <= fit.tail <= 100
        assert 0 < fit.ks_distance < 0.3


def test_order_and_zeros_change_nothing_and_one_seed_gives_one_answer():
    values = spectrum(np.random.default_rng(5), 80, 2.5, "a half circle")
    fit = power_law(values)
    assert power_law(values[::-1].copy()) == fit
    assert power_law(np.concatenate([values, np.zeros(30)])) == fit
    assert power_law(values, seed=1)[0] == fit.alpha
    assert power_law(values, seed=1).alpha_low != fit.alpha_low


def test_too_few_values_give_nan():
    values = spectrum(np.random.default_rng(6), FEWEST, 2.5, "none")
    assert np.isfinite(power_law(values)).all()
    assert np.isnan(power_law(values[1:])).all()
    assert np.isnan(power_law(np.concatenate([values[1:], np.zeros(20)]))).all()
    assert np.isnan(power_law(np.zeros(100))).all()
    assert np.isnan(power_law(np.zeros(0))).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equal_values_have_no_tail(dtype):
    turn = np.linalg.qr(np.random.default_rng(7).standard_normal((80, 80)).astype(dtype)).Q
    assert np.isnan(power_law(np.linalg.svd(turn, compute_uv=False))).all()
    assert np.isnan(power_law(np.ones(80, dtype))).all()


def test_a_repeated_largest_value_is_no_tail_by_itself():
    values = np.concatenate([spectrum(np.random.default_rng(8), 80, 2.5, "a half circle"), np.full(15, 30.0)])
    fit = power_law(values)
    assert np.isfinite(fit).all()
    assert fit.tail > 15


def test_equal_values_below_a_few_larger_ones_give_a_poor_fit_and_no_error():
    fit = power_law(np.concatenate([np.ones(60), [50.0, 1e5]]))
    assert np.isfinite(fit).all()
    assert fit.ks_distance > 0.5


def test_values_that_are_not_numbers_are_refused():
    with pytest.raises(ValueError, match="finite"):
        power_law(np.full(60, np.nan))

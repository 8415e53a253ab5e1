"""The Marchenko–Pastur law against its density and real spectra; the fit and its p-values against simulated noise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from armillary.measures.spectra.marchenko_pastur import (
    marchenko_pastur,
    singular_cdf,
    singular_quantile,
    squared_cdf,
    squared_quantile,
)

SHAPES = [(200, 200), (100, 300), (64, 576)]
DRAWS = 500


def singular_values(matrix):
    small = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    return np.sqrt(np.linalg.eigvalsh(small @ small.T).clip(0))


def planted(rng, shape, edges):
    """Noise of variance 1/columns with modes seen at `edges` × its edge.

    A spike x is seen at y² = (x + 1/x)(x + β/x) (Benaych-Georges & Nadakuditi 2012).
    """
    rows, columns = shape
    beta = rows / columns
    seen = (np.asarray(edges) * (1 + np.sqrt(beta))) ** 2 - 1 - beta
    strength = np.sqrt((seen + np.sqrt(seen**2 - 4 * beta)) / 2)
    left = np.linalg.qr(rng.standard_normal((rows, len(strength))))[0]
    right = np.linalg.qr(rng.standard_normal((columns, len(strength))))[0]
    return (left * strength) @ right.T + rng.standard_normal(shape) / np.sqrt(columns)


@pytest.fixture(scope="module")
def noise():
    """Singular values and fits of Gaussian matrices, standard deviation 0.3, by shape."""
    rng = np.random.default_rng(3)
    drawn = {}
    for shape in SHAPES:
        values = [singular_values(0.3 * rng.standard_normal(shape)) for _ in range(DRAWS)]
        drawn[shape] = np.array(values), [marchenko_pastur(each, shape, level=0.05) for each in values]
    return drawn


@pytest.mark.parametrize("ratio", [1.0, 0.9, 0.5, 0.11, 0.01])
def test_the_cdf_is_the_integral_of_the_density(ratio):
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    x = np.linspace(low, high, 9)[1:-1]
    # √(x − low) is the variable, so that the square matrix's density has no pole at 0.
    integrals = [
        quad(
            lambda u: np.sqrt(high - low - u * u) * u * u / (np.pi * ratio * (low + u * u)) if u else 0.0,
            0,
            np.sqrt(each - low),
            epsabs=1e-12,
        )[0]
        for each in x
    ]
    assert squared_cdf(x, ratio) == pytest.approx(integrals, abs=1e-10)
    assert singular_cdf(np.sqrt(x), ratio) == pytest.approx(integrals, abs=1e-10)
    assert squared_cdf(np.array([low - 1, low, high, high + 1]), ratio) == pytest.approx([0, 0, 1, 1], abs=1e-12)


def test_singular_values_of_square_matrices_follow_the_quarter_circle():
    x = np.linspace(0, 2, 50)
    closed = (x * np.sqrt(4 - x**2) / 2 + 2 * np.arcsin(x / 2)) / np.pi
    assert singular_cdf(x, 1.0) == pytest.approx(closed, abs=1e-12)
    assert singular_quantile((np.arange(4000) + 0.5) / 4000, 1.0).mean() == pytest.approx(8 / (3 * np.pi), abs=1e-6)


@pytest.mark.parametrize("ratio", [1.0, 0.6, 0.1, 0.001])
def test_quantiles_undo_the_cdf(ratio):
    share = np.linspace(0, 1, 101)
    assert squared_cdf(squared_quantile(share, ratio), ratio) == pytest.approx(share, abs=1e-11)
    assert singular_cdf(singular_quantile(share, ratio), ratio) == pytest.approx(share, abs=1e-11)


@pytest.mark.parametrize("shape", [(600, 600), (400, 1600)])
def test_a_large_gaussian_matrix_has_this_spectrum(shape):
    values = singular_values(2 * np.random.default_rng(0).standard_normal(shape))
    found = stats.kstest(values / (2 * np.sqrt(shape[1])), lambda x: singular_cdf(x, shape[0] / shape[1])).statistic
    assert found < 4 / shape[0]
    fit = marchenko_pastur(values, shape)
    assert fit.ks_distance < 4 / shape[0]
    assert fit.variance == pytest.approx(4, rel=0.01)
    assert fit.edge == pytest.approx(2 * (np.sqrt(shape[0]) + np.sqrt(shape[1])), rel=0.01)


@pytest.mark.parametrize("shape", SHAPES)
def test_p_values_of_pure_noise_are_uniform_though_its_variance_is_fitted(noise, shape):
    p = np.array([fit.top_p for fit in noise[shape][1]])
    assert stats.kstest(p, "uniform").pvalue > 0.01


@pytest.mark.parametrize("shape", SHAPES)
def test_noise_alone_has_an_outlier_as_often_as_the_level_says(noise, shape):
    found = sum(fit.outliers > 0 for fit in noise[shape][1])
    assert stats.binomtest(found, DRAWS, 0.05).pvalue > 0.01
    for fit in noise[shape][1]:
        assert (fit.outliers > 0) == (fit.top_p < 0.05)
        assert (fit.outlier_energy > 0) == (fit.outliers > 0)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_variance_of_noise_is_found_without_bias(noise, shape):
    variances = np.array([fit.variance for fit in noise[shape][1]])
    assert variances.mean() == pytest.approx(0.09, abs=4 * variances.std() / np.sqrt(DRAWS))
    assert variances.std() < 0.09 * 1.5 * np.sqrt(2 / np.prod(shape))  # the second factor: that of all entries


@pytest.mark.parametrize("shape", SHAPES)
def test_the_largest_value_lies_about_the_edge_as_tracy_and_widom_say(noise, shape):
    values, fits = noise[shape]
    place = (values[:, -1] - [fit.edge for fit in fits]) / [fit.edge_scale for fit in fits]
    assert place.mean() == pytest.approx(-1.2065, abs=4 * place.std() / np.sqrt(DRAWS))
    assert place.var() == pytest.approx(1.6078, rel=0.25)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("edges", "least"), [(1.2, 0.5), (1.5, 0.95), (3.0, 1.0)])
def test_a_planted_outlier_is_found(shape, edges, least):
    rng = np.random.default_rng(int(10 * edges))
    found = [marchenko_pastur(singular_values(planted(rng, shape, [edges])), shape).outliers for _ in range(40)]
    assert np.mean(np.array(found) >= 1) >= least
    assert np.mean(np.array(found) == 1) >= 0.9


@pytest.mark.parametrize("shape", SHAPES)
def test_many_outliers_are_counted_and_do_not_raise_the_variance(shape):
    rng = np.random.default_rng(4)
    for edges in ([1.3] * 5, [1.25, 1.5, 2, 5, 40], np.linspace(1.3, 4, shape[0] // 8)):
        fits = [marchenko_pastur(singular_values(planted(rng, shape, edges)), shape) for _ in range(10)]
        assert np.mean([abs(fit.outliers - len(edges)) for fit in fits]) <= 0.3
        assert np.mean([fit.variance for fit in fits]) * shape[1] == pytest.approx(1, rel=0.03)


def test_the_energy_of_outliers_is_their_share_of_the_squared_norm():
    matrix = planted(np.random.default_rng(5), (100, 300), [2, 3, 8])
    values = singular_values(matrix)
    fit = marchenko_pastur(values, matrix.shape)
    assert fit.outliers == 3
    assert fit.outlier_energy == pytest.approx(np.sum(values[-3:] ** 2) / np.sum(matrix**2), rel=1e-9)
    assert fit.top_p < 1e-100


def test_a_bulk_of_another_shape_has_a_large_distance():
    rng = np.random.default_rng(6)
    coloured = rng.standard_normal((100, 300)) * np.exp(rng.normal(0, 1, 300))
    assert marchenko_pastur(singular_values(coloured), (100, 300)).ks_distance > 0.05


@given(seed=st.integers(0, 10_000), scale=st.floats(1e-30, 1e30), exponent=st.integers(-400, 400))
@settings(max_examples=30)
def test_edge_and_variance_follow_the_scale_and_nothing_else_does(seed, scale, exponent):
    rng = np.random.default_rng(seed)
    values = singular_values(planted(rng, (30, 50), [1.5] * int(rng.integers(1, 4))))
    fit, scaled = marchenko_pastur(values, (30, 50)), marchenko_pastur(values * scale, (30, 50))
    assert scaled.variance == pytest.approx(fit.variance * scale**2)
    assert scaled[1:3] == pytest.approx((fit.edge * scale, fit.edge_scale * scale))
    assert scaled[3:] == pytest.approx(fit[3:])
    exact = marchenko_pastur(np.ldexp(values, exponent), (30, 50))
    assert exact[3:] == fit[3:]
    assert exact.edge == np.ldexp(fit.edge, exponent)


def test_order_of_the_values_and_of_the_sides_do_not_matter():
    values = singular_values(planted(np.random.default_rng(7), (40, 90), [1.6]))
    fit = marchenko_pastur(values, (40, 90))
    assert marchenko_pastur(values[::-1].copy(), (90, 40)) == fit
    single = marchenko_pastur(values.astype(np.float32), (40, 90))
    assert single == pytest.approx(fit, rel=1e-3)


def test_rows_of_zeros_change_nothing():
    matrix = np.random.default_rng(8).standard_normal((60, 100))
    whole = marchenko_pastur(np.linalg.svd(matrix, compute_uv=False), (60, 100))
    padded = np.linalg.svd(np.vstack([matrix, np.zeros((25, 100))]), compute_uv=False)
    assert marchenko_pastur(padded, (85, 100)) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize(
    "values", [np.zeros(50), np.r_[np.zeros(41), np.ones(9)], np.ones(9)], ids=["zeros", "9", "9 of 9"]
)
def test_fewer_than_ten_values_give_nan(values):
    assert np.isnan(marchenko_pastur(values, (len(values), 60))).all()


def test_a_spectrum_without_a_bulk_has_a_p_value_only():
    fit = marchenko_pastur(np.exp(-2.0 * np.arange(12)), (12, 20))
    assert fit.top_p < 1e-6
    assert np.isnan(fit[:3] + fit[4:]).all()


def test_values_of_another_shape_and_values_that_are_not_numbers_are_refused():
    with pytest.raises(ValueError, match="got 3"):
        marchenko_pastur(np.ones(3), (20, 30))
    with pytest.raises(ValueError, match="finite"):
        marchenko_pastur(np.full(20, np.nan), (20, 30))

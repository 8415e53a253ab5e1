import numpy as np
import pytest
import scipy.fft
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import jn_zeros

from armillary.measures.smoothness import (
    basis_share,
    cosines,
    cosines_published,
    finite_difference,
    gram,
    low_frequency_share,
    low_frequency_share_sinusoidal,
    sinusoidal_encoding,
    sinusoidal_encoding_published,
    smoothness,
    spectrum_2d,
    theorem1_bound_corrected,
    theorem1_bound_published,
    theorem1_residual,
)


def bessel_arc(positions):
    """Unit vectors that sum to zero and are analytic in t: an arc whose swing is the first zero of J₀."""
    angle = jn_zeros(0, 1)[0] * np.cos(np.pi * (np.arange(positions) + 0.5) / positions)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def test_gram_is_the_table_of_cosines_at_any_length():
    vectors = np.random.default_rng(0).standard_normal((7, 5))
    loops = [[a @ b / np.sqrt((a @ a) * (b @ b)) for b in vectors] for a in vectors]
    np.testing.assert_allclose(gram(vectors * np.arange(1.0, 8)[:, None]), loops, atol=1e-14)
    np.testing.assert_allclose(gram(vectors.astype(np.float32)), loops, atol=1e-6)


def test_a_zero_position_vector_has_no_cosines():
    vectors = np.eye(4)
    vectors[2] = 0
    table = gram(vectors)
    assert np.isnan(table[2]).all()
    assert table[0, 0] == 1
    assert np.isnan(low_frequency_share(table)).all()


def test_spectrum_is_the_cosine_sum_written_out_and_keeps_the_energy():
    matrix = np.random.default_rng(1).standard_normal((6, 6))
    expected = np.zeros((6, 6))
    for i in range(6):
        for j in range(6):
            scale = (2 - (i == 0)) ** 0.5 * (2 - (j == 0)) ** 0.5 / 6
            for t in range(6):
                for u in range(6):
                    expected[i, j] += (
                        scale * matrix[t, u] * np.cos(np.pi * i * (t + 0.5) / 6) * np.cos(np.pi * j * (u + 0.5) / 6)
                    )
    np.testing.assert_allclose(spectrum_2d(matrix), expected, atol=1e-12)
    assert (spectrum_2d(matrix) ** 2).sum() == pytest.approx((matrix**2).sum())


def test_low_frequency_share_is_the_energy_of_the_corner_of_scipys_dct():
    matrix = gram(np.random.default_rng(2).standard_normal((50, 30)).cumsum(axis=0))
    energy = scipy.fft.dctn(matrix, norm="ortho") ** 2
    expected = [energy[: K + 1, : K + 1].sum() / energy.sum() for K in range(21)]
    np.testing.assert_allclose(low_frequency_share(matrix), expected, rtol=1e-12)


def test_low_frequency_share_of_a_short_window_ends_at_1_and_of_nothing_is_nan():
    share = low_frequency_share(gram(np.random.default_rng(3).standard_normal((8, 30))), highest=20)
    assert share.shape == (21,)
    np.testing.assert_allclose(share[7:], 1)
    assert np.isnan(low_frequency_share(np.zeros((30, 30)))).all()


def test_one_cosine_of_frequency_5_enters_the_share_at_its_own_number():
    wave = cosines(64, 6)[:, 5]
    share = low_frequency_share(np.outer(wave, wave))
    np.testing.assert_allclose(share, [0.0] * 5 + [1.0] * 16, atol=1e-12)


def test_independent_directions_have_the_low_frequency_share_of_white_noise():
    share = low_frequency_share(gram(np.random.default_rng(4).standard_normal((127, 576))))
    count = np.arange(1, 22)
    np.testing.assert_allclose(share[5:], (count * (1 + count / 576) / (127 * (1 + 127 / 576)))[5:], rtol=0.15)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_finite_difference_is_equation_7_on_the_reflected_matrix(order):
    table = gram(np.random.default_rng(5).standard_normal((5, 3)))

    def reflected(t, u):
        t, u = t % 10, u % 10
        return table[min(t, 9 - t), min(u, 9 - u)]

    def difference(t, u, m):
        if m == 0:
            return reflected(t, u)
        return 25 * (
            difference(t, u, m - 1)
            - difference(t - 1, u, m - 1)
            - difference(t, u - 1, m - 1)
            + difference(t - 1, u - 1, m - 1)
        )

    expected = [[difference(t, u, order) for u in range(10)] for t in range(10)]
    np.testing.assert_allclose(finite_difference(table, order), expected, atol=1e-8 * 100**order)


@given(data=st.data(), positions=st.integers(2, 24), width=st.integers(1, 4), order=st.integers(1, 3))
@settings(max_examples=150, deadline=None)
def test_the_corrected_theorem_1_holds_for_every_zero_sum_set_of_vectors(data, positions, width, order):
    vectors = data.draw(arrays(np.float64, (positions, width), elements=st.floats(-1, 1, width=32)))
    k = data.draw(st.integers(1, positions))
    vectors = vectors - vectors.mean(axis=0)
    table = vectors @ vectors.T
    residual = theorem1_residual(table, k)
    assert residual.least <= residual.projected + 1e-12
    assert residual.projected <= theorem1_bound_corrected(table, k, order) + 1e-12


def test_for_smooth_vectors_the_corrected_bound_is_below_the_published_one_up_to_seven_tenths_of_the_window():
    table = gram(bessel_arc(64))
    for k in (2, 8, 32, 44):
        for order in (1, 2, 3):
            assert theorem1_bound_corrected(table, k, order) <= theorem1_bound_published(table, k, order)


@pytest.mark.parametrize(("positions", "k", "order"), [(128, 64, 4), (256, 64, 4), (256, 128, 3), (256, 128, 4)])
def test_the_printed_basis_breaks_its_own_bound_on_an_analytic_unit_zero_sum_arc(positions, k, order):
    vectors = bessel_arc(positions)
    assert np.abs(vectors.sum(axis=0)).max() < 1e-12
    table = gram(vectors)
    printed = theorem1_residual(table, k, "published")
    assert printed.least > 4 * theorem1_bound_published(table, k, order)
    assert theorem1_residual(table, k, "corrected").projected < 1e-14


def test_no_choice_of_coefficients_leaves_less_than_the_least_residual():
    rng = np.random.default_rng(6)
    table = gram(bessel_arc(40))
    least = theorem1_residual(table, 10, "published").least
    frame = cosines_published(40, 10)
    fitted = np.linalg.lstsq(frame, table, rcond=None)[0] @ np.linalg.pinv(frame).T
    for wobble in (0.0, 0.01, 0.1, 1.0):
        middle = fitted + wobble * rng.standard_normal((10, 10))
        assert np.linalg.norm(table - frame @ middle @ frame.T, 2) / 40 >= least


def test_without_a_zero_sum_no_bound_holds():
    vectors = (1 + 0.001 * np.cos(8 * np.pi * (np.arange(64) + 0.5) / 64))[:, None]
    table = vectors @ vectors.T
    assert theorem1_residual(table, 8).projected > 10 * theorem1_bound_published(table, 8, 1)
    assert theorem1_residual(table, 8).projected > 10 * theorem1_bound_corrected(table, 8, 1)


def test_cosines_are_orthonormal_and_those_of_dct_2_while_the_printed_ones_are_not_orthogonal():
    waves = cosines(30, 12)
    np.testing.assert_allclose(waves.T @ waves, np.eye(12), atol=1e-14)
    expected = np.cos(np.pi * np.outer(np.arange(30) + 0.5, np.arange(12)) / 30)
    np.testing.assert_allclose(waves, expected / np.linalg.norm(expected, axis=0), atol=1e-14)
    printed = cosines_published(30, 12)
    assert np.abs(printed.T @ printed - np.diag(np.diagonal(printed.T @ printed))).max() > 0.4


def test_vaswanis_encoding_has_constant_norm_and_a_gram_of_lags_and_the_printed_one_has_neither():
    right, printed = sinusoidal_encoding(60, 32), sinusoidal_encoding_published(60, 32)
    for t in (0, 1, 59):
        for i in range(32):
            wave = np.sin if i % 2 == 0 else np.cos
            assert right[t, i] == pytest.approx(wave(t / 10000 ** (2 * (i // 2) / 32)))
            assert printed[t, i] == pytest.approx(wave(t / 10000 ** (2 * i / 32)))
    np.testing.assert_allclose((right**2).sum(axis=1), 16)
    products, printed_products = right @ right.T, printed @ printed.T
    assert max(np.ptp(np.diagonal(products, lag)) for lag in range(60)) < 1e-12
    assert max(np.ptp(np.diagonal(printed_products, lag)) for lag in range(60)) > 0.5


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 40))
def test_shares_from_the_vectors_are_those_from_their_gram_matrix(seed, positions):
    basis = np.random.default_rng(seed).normal(size=(positions, 15))
    assert np.allclose(basis_share(basis), low_frequency_share(gram(basis)), rtol=1e-9)


def test_everything_about_smoothness_is_that_of_its_parts():
    rng = np.random.default_rng(8)
    folds = rng.normal(size=(4, 30, 12)).cumsum(1)
    folds -= folds.mean(1, keepdims=True)
    group = np.repeat(np.arange(4), 3)
    basis, null = folds.mean(0), rng.normal(size=(30, 12))
    got = smoothness(basis, null, folds, group)
    own = gram(basis)
    assert np.allclose(got.gram, own, atol=1e-6)
    assert np.allclose(got.low_frequency_share, low_frequency_share(own))
    assert np.allclose(got.low_frequency_share_null, low_frequency_share(gram(null)))
    without = [low_frequency_share(gram(np.delete(folds, f, 0).mean(0))) for f in range(4)]
    assert np.allclose(got.low_frequency_share_low, np.min(without, 0))
    assert np.allclose(got.low_frequency_share_high, np.max(without, 0))
    for order in range(1, 5):
        assert got.difference_max[order - 1] == pytest.approx(np.abs(finite_difference(own, order)).max())
        assert got.theorem1_bound[order - 1] == pytest.approx(theorem1_bound_corrected(own, 10, order))
        assert got.theorem1_bound_published[order - 1] == pytest.approx(theorem1_bound_published(own, 10, order))
    assert got.theorem1_residual == pytest.approx(theorem1_residual(own, 10).projected)
    assert got.theorem1_residual_published == pytest.approx(theorem1_residual(own, 10, "published").least)


def test_the_row_of_the_sinusoidal_encoding_is_its_own():
    encoding = sinusoidal_encoding(40, 16)
    expected = low_frequency_share(gram(encoding - encoding.mean(0)))
    assert np.allclose(low_frequency_share_sinusoidal(np.zeros((3, 40, 16))), expected)

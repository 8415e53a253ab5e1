"""The null of independent factors: calibrated on products that are independent, exact where it has a closed form."""

import numpy as np
import pytest
from scipy import stats

from armillary.measures.spectra.factors import factors
from armillary.measures.spectra.product_null import DRAWS, haar, overlap_moments, product_null, qk_null, vo_null

WIDE, NARROW = 96, 16


def drawn(rng, spectra=None):
    """Two independent factors d_model × d_head: Gaussian, or with given singular values in Haar directions."""
    if spectra is None:
        return rng.standard_normal((2, WIDE, NARROW))
    left, right = (np.linalg.qr(rng.standard_normal((2, size, NARROW))).Q for size in (WIDE, NARROW))
    return [left[i] * spectra[i] @ right[i].T for i in range(2)]


def null_of(A, B, seed=0):
    made = factors(A, B, A, B.T)
    return product_null(made.R_Q, made.R_K, made.inner_qk, WIDE, seed=seed)


@pytest.mark.parametrize("spectra", [None, (1 / np.arange(1, 17), np.linspace(1, 3, 16))])
def test_z_scores_of_independent_factors_follow_their_law(spectra):
    rng = np.random.default_rng(7)
    found = [null_of(*drawn(rng, spectra), seed=seed) for seed in range(500)]
    assert stats.kstest([each.trace_z for each in found], stats.norm.cdf).pvalue > 0.01
    assert stats.kstest([each.overlap_z for each in found], stats.norm.cdf).pvalue > 0.01
    assert stats.kstest([each.top_z for each in found], stats.t(DRAWS - 1).cdf).pvalue > 0.01


def test_the_mean_spectrum_of_the_null_is_that_of_many_independent_products():
    rng = np.random.default_rng(8)
    A, B = drawn(rng)
    found = null_of(A, B).null
    a, b = (np.linalg.svd(W, compute_uv=False) for W in (A, B))
    many = np.linalg.svd(a[:, None] * haar(NARROW, 400, 9) * b, compute_uv=False)
    error = many.std(axis=0) * np.sqrt(1 / 400 + 1 / DRAWS)
    assert (np.abs(found - many.mean(axis=0)) < 4.5 * error).all()


def test_the_variance_of_the_trace_is_the_corrected_one_not_the_published():
    rng = np.random.default_rng(10)
    a, b = np.sort(rng.exponential(size=(2, 6)))[:, ::-1]
    left, right = haar(6, 20000, 11), haar(6, 20000, 12)
    traces = np.einsum("nij,j,njk,k,nki->n", left, a, right, b, np.broadcast_to(np.eye(6), (20000, 6, 6)))
    measured, error = traces.var(), traces.var() * np.sqrt(2 / 20000)
    corrected, published = np.sum(a**2) * np.sum(b**2) / 36, np.sum(a**2 * b**2) / 6
    assert measured == pytest.approx(corrected, abs=4 * error)
    assert abs(measured - published) > 10 * error


@pytest.mark.parametrize("shape", [(16, 96), (4, 10), (1, 5)])
def test_the_overlap_of_random_subspaces_has_these_moments(shape):
    narrow, wide = shape
    rng = np.random.default_rng(13)
    frames = np.linalg.qr(rng.standard_normal((2, 3000, wide, narrow))).Q
    overlaps = np.sum((frames[0].swapaxes(1, 2) @ frames[1]) ** 2, axis=(1, 2)) / narrow
    mean, deviation = overlap_moments(narrow, wide)
    assert overlaps.mean() == pytest.approx(mean, abs=4 * deviation / np.sqrt(3000))
    assert overlaps.std() == pytest.approx(deviation, rel=0.08)


def test_equal_factors_are_aligned_and_share_their_subspace():
    W = np.random.default_rng(14).standard_normal((WIDE, NARROW))
    made = factors(W, W, W, W.T)
    for found in (
        qk_null(made.R_Q, made.R_K, made.inner_qk, 0.25, WIDE),
        vo_null(made.R_V, made.R_O, made.inner_vo, WIDE),
    ):
        assert found[3] == pytest.approx(1)
        assert found[2] > 20
        assert found[5] > 20


def test_the_scale_counts_in_the_spectrum_and_not_in_the_z_scores():
    made = factors(*np.random.default_rng(15).standard_normal((3, WIDE, NARROW)), np.ones((NARROW, WIDE)))
    one, quarter = (qk_null(made.R_Q, made.R_K, made.inner_qk, scale, WIDE) for scale in (1.0, 0.25))
    assert quarter.singular_value_qk_null == pytest.approx(0.25 * one.singular_value_qk_null)
    assert quarter[1:] == one[1:]


def test_subspaces_as_wide_as_the_space_always_meet_whole():
    assert overlap_moments(5, 5) == (1.0, 0.0)

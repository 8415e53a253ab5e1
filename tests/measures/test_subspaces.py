import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.stats import beta, kstest

from armillary.measures.subspaces import leading_directions, principal_angles, principal_angles_null


def frame(rng, k, d_model):
    return np.linalg.qr(rng.standard_normal((d_model, k)))[0].T


@pytest.mark.parametrize("k", [1, 5, 10, 15])
def test_principal_angles_are_scipys(k):
    rng = np.random.default_rng(k)
    first, second = frame(rng, k, 20), frame(rng, k, 20)
    np.testing.assert_allclose(principal_angles(first, second), subspace_angles(first.T, second.T)[::-1], atol=1e-12)


def test_tiny_angles_are_resolved_below_the_rounding_of_their_cosine():
    plane = np.eye(2, 6)
    tilted = plane.copy()
    tilted[1] = np.cos(1e-11) * plane[1] + np.sin(1e-11) * np.eye(6)[4]
    angles = principal_angles(plane, tilted)
    assert angles[0] == pytest.approx(0, abs=1e-15)
    assert angles[1] == pytest.approx(1e-11, rel=1e-4)


def test_the_same_span_has_angles_0_and_orthogonal_spans_right_angles():
    rng = np.random.default_rng(0)
    both = frame(rng, 8, 30)
    mixed = frame(rng, 4, 4) @ both[:4]
    np.testing.assert_allclose(principal_angles(both[:4], mixed), 0, atol=1e-14)
    np.testing.assert_allclose(principal_angles(both[:4], both[4:]), np.pi / 2, atol=1e-14)


def test_leading_directions_span_the_strongest_directions_of_a_planted_basis():
    rng = np.random.default_rng(1)
    modes = frame(rng, 3, 40)
    basis = rng.standard_normal((25, 3)) @ modes * 100 + rng.standard_normal((25, 40)) * 1e-6
    found = leading_directions(basis.astype(np.float32), 3)
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-12)
    assert principal_angles(found, modes).max() < 1e-5
    with pytest.raises(ValueError, match="25 modes, not k = 26"):
        leading_directions(basis, 26)


@pytest.mark.parametrize("shape", [(30, 80), (80, 30), (40, 40)])
@pytest.mark.parametrize("fall", [1, 2, 6])
def test_leading_directions_are_numpys_whatever_the_shape_and_however_weak_the_last(shape, fall):
    rng = np.random.default_rng(3)
    left, right = frame(rng, 6, shape[0]), frame(rng, 6, shape[1])
    basis = (left.T * np.logspace(0, -fall, 6)) @ right
    for k in (1, 3, 6):
        expected, found = np.linalg.svd(basis, full_matrices=False)[2][:k], leading_directions(basis, k)
        np.testing.assert_allclose(np.abs(np.sum(found * expected, axis=1)), 1, atol=1e-9)  # strongest first
        np.testing.assert_allclose(found @ found.T, np.eye(k), atol=1e-12)
        assert principal_angles(found, expected).max() < 1e-8


def test_the_null_is_that_of_random_subspaces():
    rng = np.random.default_rng(2)
    drawn = np.array([principal_angles(frame(rng, 3, 12), frame(rng, 3, 12)) for _ in range(1000)])
    null = principal_angles_null(12, 3, draws=1000)
    for ours, theirs in zip(null.T, drawn.T, strict=True):
        assert kstest(ours, theirs).pvalue > 1e-3


def test_the_nulls_cosines_have_the_mean_square_k_squared_over_d_and_one_direction_is_a_beta_variable():
    squares = np.cos(principal_angles_null(576, 10, draws=400)) ** 2
    assert squares.sum(axis=1).mean() == pytest.approx(100 / 576, rel=0.02)
    one = np.cos(principal_angles_null(50, 1, draws=2000))[:, 0] ** 2
    assert kstest(one, beta(1 / 2, 49 / 2).cdf).pvalue > 1e-3


def test_subspaces_that_do_not_fit_beside_each_other_are_refused():
    with pytest.raises(ValueError, match="2k ≤ d_model = 10"):
        principal_angles_null(10, 6)

"""Coverage and null spaces against direct sums over tokens, and against simulated subspaces."""

import numpy as np
import pytest

from armillary.measures.stores.coverage import coverage, needed, null_space, written_energy
from armillary.measures.stores.triplets import triplets


def test_coverage_is_the_cumulative_share():
    assert coverage(np.array([3.0, 1.0, 0.0])) == pytest.approx([0.75, 1, 1])
    assert np.isnan(coverage(np.zeros(3))).all()


def test_as_many_triplets_are_needed_as_reach_the_share():
    covered = np.array([0.5, 0.9, 0.98, 1.0])
    assert [needed(covered, share) for share in (0.5, 0.9, 0.99)] == [1, 2, 4]
    assert needed(coverage(np.full(7, 0.1)), 1.0) == 7
    assert np.isnan(needed(np.full(4, np.nan), 0.9))


def test_the_energy_on_text_is_the_mean_square_of_what_triplets_write():
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((4000, 12)) @ rng.standard_normal((12, 12)) + 2
    first, second = rng.standard_normal((2, 12, 4))
    found = triplets(first, second)
    W = first @ second.T
    energy = written_energy(W @ found.right, np.cov(inputs.T, bias=True), inputs.mean(0))
    assert energy == pytest.approx(np.mean((inputs @ W @ found.right) ** 2, axis=0))
    assert energy.sum() == pytest.approx(np.mean(np.sum((inputs @ W) ** 2, axis=1)))


def test_the_null_space_holds_the_energy_that_weights_cannot_see():
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((3000, 10)) @ rng.standard_normal((10, 10)) + 1
    basis = np.linalg.qr(rng.standard_normal((10, 3)))[0]
    found = null_space(basis, np.cov(inputs.T, bias=True), inputs.mean(0))
    seen = np.sum((inputs @ basis) ** 2) / np.sum(inputs**2)
    assert found.share == pytest.approx(1 - seen)
    assert found.null == pytest.approx(0.7)


def test_random_subspaces_have_z_scores_of_mean_0_and_variance_1():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((16, 16)) * np.linspace(0.1, 3, 16)
    covariance, mean = root @ root.T, rng.standard_normal(16)
    z = [null_space(np.linalg.qr(rng.standard_normal((16, 5)))[0], covariance, mean).z for _ in range(4000)]
    assert np.mean(z) == pytest.approx(0, abs=0.05)
    assert np.std(z) == pytest.approx(1, abs=0.04)


def test_no_energy_and_no_weights_are_no_crash():
    nothing = null_space(np.zeros((6, 0)), np.eye(6), np.zeros(6))
    assert nothing.share == nothing.null == 1
    assert np.isnan(null_space(np.eye(6)[:, :2], np.zeros((6, 6)), np.zeros(6)).share)
    whole = null_space(np.eye(6), np.diag(np.arange(6.0)), np.zeros(6))
    assert whole.share == pytest.approx(0)
    assert np.isnan(whole.z)

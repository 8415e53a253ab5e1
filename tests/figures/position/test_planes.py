"""The plane of the two leading modes."""

import numpy as np
import pytest

from armillary.figures.position.planes import plane


def test_the_plane_is_that_of_the_singular_vectors(results):
    basis = results["residual"].position_basis.values[2]
    u, s, _ = np.linalg.svd(basis, full_matrices=False)
    flat = plane(results, 2)
    assert np.abs(flat.position) == pytest.approx(np.abs(u[:, :2] * s[:2]))
    assert len(flat.cloud) == 39  # the massive token is left out


def test_the_cloud_is_state_less_mean_less_position(results):
    residual, sample = results["residual"], results["sample"]
    modes = np.linalg.svd(residual.position_basis.values[1], full_matrices=False)[2][:2]
    where = sample.position.values[5]
    vector = sample.states.values[1, 5] - residual["mean"].values[1]
    vector = vector - residual.position_basis.sel(position=where).values[1]
    assert np.abs(plane(results, 1).cloud[4]) == pytest.approx(np.abs(modes @ vector))

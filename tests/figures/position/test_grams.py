"""Cosines of position and context vectors as one matrix."""

import numpy as np
import pytest

from armillary.figures import FIGURES


def test_the_blocks_are_cosines_sorted_by_document(results):
    figure = FIGURES["position-gram"].draw(results)
    matrix = figure.data[0].z
    assert matrix.shape == (24 + 32, 24 + 32)
    assert np.diagonal(matrix) == pytest.approx(np.ones(56), abs=1e-6)
    assert np.abs(matrix).max() <= 1 + 1e-6
    assert matrix == pytest.approx(matrix.T, abs=1e-6)
    basis, windows = (results["residual"][name].values[0] for name in ("position_basis", "context_basis"))
    expected = windows[0] @ basis[3] / np.linalg.norm(windows[0]) / np.linalg.norm(basis[3])
    assert matrix[3, 24] == pytest.approx(expected, abs=1e-6)

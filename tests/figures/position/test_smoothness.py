"""Frequencies of the positional Gram matrix."""

import numpy as np
import pytest
from scipy.fft import dctn

from armillary.figures import FIGURES


def test_the_frequencies_are_scipys(results):
    figure = FIGURES["position-frequencies"].draw(results)
    expected = np.abs(dctn(results["position"].gram.values[0], type=2, norm="ortho"))[:16, :16]
    large = expected > 1e-6
    assert 10.0 ** figure.data[0].z[large] == pytest.approx(expected[large], rel=1e-4)

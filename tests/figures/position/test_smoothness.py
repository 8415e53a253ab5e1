"""Frequencies of the positional Gram matrix."""

import numpy as np
import pytest
import xarray as xr
from scipy.fft import dctn

from armillary.figures import FIGURES
from armillary.measures.smoothness import differences, gram


def test_the_frequencies_are_scipys(results):
    figure = FIGURES["position-frequencies"].draw(results)
    expected = np.abs(dctn(results["position"].gram.values[0], type=2, norm="ortho"))[:16, :16]
    large = expected > 1e-6
    assert 10.0 ** figure.data[0].z[large] == pytest.approx(expected[large], rel=1e-4)


def test_the_finding_on_differences_is_of_one_step_and_beside_its_bound():
    """Vectors that turn about at every position differ by the most there is: (1 + 1 + 1 + 1) in cosines."""
    basis = np.outer((-1.0) ** np.arange(8), [3.0, 4.0])
    own = gram(basis)
    maxima = [np.abs(difference).max() for difference in differences(own, 2)]
    position = xr.Dataset(
        {
            "gram": (("layer", "position", "position_"), own[None].astype(np.float32)),
            "difference_max": (("layer", "order"), [maxima]),
        }
    )
    found = xr.DataTree.from_dict({"/position": position})
    finding = FIGURES["position-differences"].finding(found)
    assert finding == "Mixed differences of neighbouring cosines reach 4 of at most 4 (layer 0)"

"""Measures lifted to named axes by their own signatures, and the one vocabulary of axes."""

import importlib
import inspect
import pkgutil
import typing
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
import xarray as xr
from jaxtyping import Float, Int

from armillary import measures
from armillary.results.labels import AXES, axes_of, labelled, outputs_of
from armillary.results.schema import GROUPS

INNER = {"hole", "value", "candidate", "reflected"}
INNER |= {"set", "unit", "centre", "labelling", "vector", "term", "occurrence", "shuffle"}
"""Axes inside a measure that no result has."""


class Pair(NamedTuple):
    largest: float
    doubled: Float[np.ndarray, "mode"]


def both(spectrum: Float[np.ndarray, "mode"], scale: float = 1.0) -> Pair:
    """The largest value and all values doubled."""
    return Pair(float(spectrum.max() * scale), spectrum * 2)


def product(
    left: Float[np.ndarray, "position d_model"], right: Float[np.ndarray, "d_model"]
) -> Float[np.ndarray, "position"]:
    return left @ right


def total(counts: Int[np.ndarray, "context"], weight: float) -> float:
    return float(counts.sum() * weight)


SPECTRA = xr.DataArray(
    np.arange(24.0).reshape(2, 3, 4),
    dims=("layer", "head", "mode"),
    coords={"layer": [4, 9], "mode": [1, 2, 3, 4]},
)


def all_measures():
    """Every public function of measures/."""
    for found in pkgutil.iter_modules(measures.__path__):
        module = importlib.import_module(f"armillary.measures.{found.name}")
        for name, function in vars(module).items():
            if inspect.isfunction(function) and function.__module__ == module.__name__ and name[0] != "_":
                yield pytest.param(function, id=f"{found.name}.{name}")


def signature_axes(measure):
    hints = list(typing.get_type_hints(measure).values())
    for hint in list(hints):
        hints += [*typing.get_args(hint)]
        if hasattr(hint, "_fields"):
            hints += typing.get_type_hints(hint).values()
    return {axis.lstrip("*").rstrip("_") for hint in hints for axis in axes_of(hint) or ()} - {"batch"}


@pytest.mark.parametrize("measure", list(all_measures()))
def test_every_axis_of_a_measure_is_in_the_vocabulary(measure):
    assert signature_axes(measure) - INNER <= AXES.keys()


@pytest.mark.parametrize("group", GROUPS)
def test_every_axis_of_the_schema_is_in_the_vocabulary(group):
    used = {axis.removesuffix("_") for row in GROUPS[group].variables.values() for axis in row.axes}
    assert used <= AXES.keys()
    for measure in GROUPS[group].measures:
        assert signature_axes(measure) <= AXES.keys()


def test_every_axis_says_what_it_is():
    assert all(name == name.strip("_").lower() and len(text.split()) > 1 for name, text in AXES.items())


def test_axes_are_read_from_annotations():
    assert axes_of(Float[np.ndarray, "position d_model"]) == ("position", "d_model")
    assert axes_of(float) == axes_of(int) == axes_of(bool) == ()
    assert axes_of(str) is None


def test_outputs_are_the_fields_or_the_measures_own_name():
    assert outputs_of(both) == {"largest": (), "doubled": ("mode",)}
    assert outputs_of(product) == {"product": ("position",)}


def test_every_axis_that_the_measure_does_not_name_is_looped_over():
    got = labelled(both)({"spectrum": SPECTRA})
    assert got.largest.dims == ("layer", "head")
    assert got.doubled.dims == ("layer", "head", "mode")
    for layer in range(2):
        for head in range(3):
            expected = both(SPECTRA.values[layer, head])
            assert float(got.largest[layer, head]) == expected.largest
            assert np.array_equal(got.doubled[layer, head], expected.doubled)


def test_coordinates_of_axes_are_kept():
    got = labelled(both)({"spectrum": SPECTRA})
    assert got.layer.values.tolist() == [4, 9]
    assert got.mode.values.tolist() == [1, 2, 3, 4]
    assert set(got.coords) == {"layer", "mode"}


def test_an_axis_that_left_the_result_leaves_no_coordinate():
    left = xr.DataArray(np.ones((3, 2)), dims=("position", "d_model"), coords={"d_model": [5, 6]})
    got = labelled(product)({"left": left, "right": xr.DataArray(np.ones(2), dims="d_model")})
    assert got["product"].dims == ("position",)
    assert not got.coords


def test_arrays_are_turned_to_the_order_of_the_signature():
    left = np.random.default_rng(0).normal(size=(2, 3, 4))
    turned = xr.DataArray(left, dims=("layer", "position", "d_model")).transpose("d_model", "layer", "position")
    got = labelled(product)({"left": turned, "right": xr.DataArray(np.arange(4.0), dims="d_model")})
    assert np.allclose(got["product"], left @ np.arange(4.0))


def test_an_array_without_the_looped_axis_serves_every_turn():
    left = xr.DataArray(np.ones((2, 3, 4)), dims=("layer", "position", "d_model"))
    right = xr.DataArray(np.arange(8.0).reshape(2, 4), dims=("layer", "d_model"))
    shared = labelled(product)({"left": left[0], "right": right})
    assert np.array_equal(
        shared["product"].transpose("layer", "position"), labelled(product)({"left": left, "right": right})["product"]
    )


def test_scalars_are_taken_plain_labelled_and_as_options():
    counts = xr.DataArray(np.arange(6).reshape(2, 3), dims=("layer", "context"))
    expected = [6.0, 24.0]
    assert labelled(total)({"counts": counts, "weight": 2.0}).total.values.tolist() == expected
    assert labelled(total)({"counts": counts, "weight": xr.DataArray(2.0)}).total.values.tolist() == expected
    assert labelled(total)({"counts": counts}, weight=2.0).total.values.tolist() == expected
    by_layer = xr.DataArray([1.0, 3.0], dims="layer")
    assert labelled(total)({"counts": counts, "weight": by_layer}).total.values.tolist() == [3.0, 36.0]


def test_a_missing_parameter_keeps_its_default():
    one = SPECTRA.isel(layer=0, head=0, drop=True)
    assert float(labelled(both)({"spectrum": one}).largest) == 3
    assert float(labelled(both)({"spectrum": one}, scale=2.0).largest) == 6


def test_threads_give_the_same_result_in_the_same_order():
    with ThreadPoolExecutor(2) as threads:
        xr.testing.assert_identical(
            labelled(both, threads.map)({"spectrum": SPECTRA}), labelled(both)({"spectrum": SPECTRA})
        )


def test_a_lifted_measure_keeps_its_name_and_words():
    assert labelled(both).__name__ == "both"
    assert labelled(both).__doc__ == both.__doc__

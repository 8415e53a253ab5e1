"""What the figures of norms say and show."""

import numpy as np
import pytest

import made_up
from armillary.figures import FIGURES

TITLES = {
    "norm-axes": {
        "clear": ({}, "Gain stretches the sphere up to 4-fold along one axis (final)"),
        "none": (
            {"norm_geometry__gain_largest": 1.0},
            "Gain leaves the sphere of every norm a sphere: all axes are equal",
        ),
        "open": ({"norm_geometry__gain_largest": np.nan}, "The axes of the norms are not estimable"),
    },
    "norm-radii": {
        "clear": ({}, "Norm outputs lie on the sphere: radii within 0.0001 % of √d_model"),
        "near": (
            {"norm_geometry__radius_before": [3.99, np.nan, 4.0, np.nan, 4.0, np.nan, 4.0, np.nan, 4.0]},
            "Norm outputs lie on the sphere: radii within 0.25 % of √d_model",
        ),
        "none": (
            {"norm_geometry__radius_before": [3.0, np.nan, 4.0, np.nan, 4.0, np.nan, 4.0, np.nan, 4.0]},
            "Norm outputs leave the sphere by up to 25 % of its radius (attention 0)",
        ),
        "open": ({"norm_geometry__radius_before": np.nan}, "The radii of norm outputs are not estimable"),
    },
}


@pytest.fixture(scope="module")
def results():
    return made_up.run_of()


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in TITLES.items() for case in cases])
def test_a_title_says_what_the_run_shows(results, name, case):
    values, expected = TITLES[name][case]
    changed = made_up.changed(results, **values)
    assert FIGURES[name].finding(changed) == expected
    assert len(expected.split()) <= 15
    FIGURES[name].draw(changed)


def test_a_norm_stands_at_its_block_and_the_final_one_after_all(results):
    drawn = FIGURES["norm-axes"].draw(results)
    curves = {trace.name: trace for trace in drawn.data if trace.xaxis in (None, "x")}
    assert curves["attention"].x.tolist() == [0, 1, 2, 3]
    assert curves["final"].x.tolist() == [4]
    assert curves["mlp"].text[1] == "mlp 1"
    assert curves["final"].y[0] == 4


def test_norms_that_the_sample_does_not_hold_are_not_drawn(results):
    drawn = FIGURES["norm-radii"].draw(results)
    assert {trace.name for trace in drawn.data} == {"attention", "final", "√d_model"}
    after = [trace for trace in drawn.data if trace.name == "attention"][1]
    assert after.error_y.array.tolist() == [0.5] * 4

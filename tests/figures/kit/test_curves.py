"""Curves: the band is the interval, nulls are grey broken lines that say so."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from armillary.figures import FIGURES
from armillary.figures.kit.colours import NULL
from armillary.figures.kit.curves import band_outline
from armillary.figures.kit.units import drawn
from armillary.results.reading import estimate


def test_the_band_is_students_interval(results):
    figure = FIGURES["position-share"].draw(results)
    curve = next(trace for trace in figure.data if trace.name == "bias-corrected")
    band = figure.data[0]
    position = results["position"]
    assert curve.y == pytest.approx(100 * position.share_corrected.values)
    margin = stats.t.ppf(0.975, 15) * 100 * position.share_corrected_se.values
    layers = curve.y.size
    assert band.fill == "toself"
    assert band.y[:layers] == pytest.approx(curve.y + margin)
    assert band.y[layers : 2 * layers][::-1] == pytest.approx(curve.y - margin)
    assert curve.customdata == pytest.approx(np.stack([curve.y - margin, curve.y + margin], 1))


def test_ranks_have_their_extremes_as_band(results):
    low, high = estimate(results, "position/rank_screenot").band()
    assert low.tolist() == [11] * 5
    assert high.tolist() == [13] * 5


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("position-stable-rank", "position/rank_stable_null"),
        ("position-relative-norm", "position/relative_norm_null"),
        ("position-rank", "position/rank_screenot_null"),
        ("context-similarity", "context/similarity_null"),
        ("context-clusters", "context/purity_null"),
        ("context-clusters", "context/silhouette_null"),
        ("incoherence", "context/incoherence_mean_null_rotation"),
        ("incoherence", "context/incoherence_max_null_covariance"),
        ("dimension", "depth/dimension_twonn_null"),
    ],
)
def test_nulls_are_grey_broken_lines_that_say_so(results, name, path):
    values = drawn(results, path)
    nulls = [
        trace
        for trace in FIGURES[name].draw(results).data
        if trace.type == "scatter" and np.array_equal(trace.y, values)
    ]
    assert len(nulls) == 1
    assert nulls[0].line.color == NULL
    assert nulls[0].line.dash in ("dash", "dot")
    assert "null" in nulls[0].name


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_a_band_has_one_closed_shape_per_run_of_known_values(known):
    across = np.arange(len(known), dtype=float)
    high = np.where(known, 1.0, np.nan)
    xs, ys = band_outline(across, -high, high)
    runs = len(re.findall("1+", "".join("1" if value else "0" for value in known)))
    assert np.isnan(xs).sum() == runs
    assert np.array_equal(np.isnan(xs), np.isnan(ys))
    for layer in across[np.array(known)]:
        assert np.abs(xs - layer).min(where=~np.isnan(xs), initial=9) <= 0.13

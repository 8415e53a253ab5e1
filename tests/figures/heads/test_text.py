"""Heads on text: each measure alone with its margin, the most and the least local heads."""

import numpy as np
import pytest
from scipy import stats

from armillary.figures import FIGURES
from armillary.figures.heads.text import span_names
from armillary.results.reading import label_of


def test_the_grid_shows_each_measure_alone_with_students_margin(results):
    figure = FIGURES["head-grid"].draw(results)
    assert [trace.visible for trace in figure.data] == [True, False, False, False, False]
    assert figure.data[4].z == pytest.approx(results["heads"].distance.values, rel=1e-6)
    assert figure.data[0].customdata == pytest.approx(np.full((4, 4), 100 * 0.01 * stats.t.ppf(0.975, 15)))
    assert figure.data[0].z == pytest.approx(100 * results["heads"].entropy_relative.values, rel=1e-6)
    assert figure.data[0].name == f"{label_of('heads/entropy_relative')}, %"
    shown = np.array([step.args[1] for step in figure.layout.sliders[0].steps])
    assert np.array_equal(shown, np.eye(5, dtype=bool))


def test_the_nearest_and_the_farthest_heads_are_drawn(results, changed):
    spread = changed(results, heads__mass_first=0.1)
    names = [trace.name for trace in FIGURES["head-distances"].draw(spread).data if trace.fill is None]
    assert names == ["L0H0", "L0H1", "L0H2", "L3H1", "L3H2", "L3H3", "mean of all heads"]


def test_attention_sinks_are_left_out_of_the_distances_and_counted(results, changed):
    first = np.full((4, 4), 0.1)
    first[3, 3] = 0.98
    run = changed(results, heads__mass_first=first)
    names = [trace.name for trace in FIGURES["head-distances"].draw(run).data if trace.fill is None]
    assert "L3H3" not in names
    detail = FIGURES["head-distances"].detail(run)
    assert "(L3H2); 1 heads with" not in detail
    assert "(L3H2); 1 head with most attention on the first token is left out" in detail
    everywhere = FIGURES["head-distances"].finding(changed(results, heads__mass_first=0.9))
    assert everywhere == "Every head is an attention sink: no mean distance says more"


def test_bins_of_distance_are_named_by_what_they_hold():
    assert span_names(np.array([0, 1, 2, 3, 5, 9])) == ["0", "1", "2", "3–4", "5–8", "9+"]

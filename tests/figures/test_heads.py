"""Figures of heads: the numbers of the results, margins by the right number of draws, titles no stronger than these."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from armillary.figures import FIGURES
from armillary.figures.heads.maps import most_unlike
from armillary.figures.heads.names import beyond_doubt
from armillary.figures.heads.text import span_names
from armillary.figures.kit.each_head import labels, per_head
from armillary.figures.kit.style import NULL

MEASURED = ("heads", "mixing", "constituents", "dissection", "qk_smoothness", "six_panels")


def test_errors_rest_on_what_was_drawn(results):
    assert draws(results, "heads/distance") == draws(results, "taxonomy/sink") == 16
    assert draws(results, "taxonomy/induction") == 8
    assert draws(results, "constituents/share") == draws(results, "qk_smoothness/low_frequency_share_logits") == 7


def test_the_grid_shows_each_measure_alone_with_students_margin(results):
    figure = FIGURES["head-grid"].draw(results)
    assert [trace.visible for trace in figure.data] == [True, False, False, False, False]
    assert figure.data[4].z == pytest.approx(results["heads"].distance.values, rel=1e-6)
    assert figure.data[0].customdata == pytest.approx(np.full((4, 4), 0.01 * stats.t.ppf(0.975, 15)))
    shown = np.array([step.args[1] for step in figure.layout.sliders[0].steps])
    assert np.array_equal(shown, np.eye(5, dtype=bool))


def test_the_nearest_and_the_farthest_heads_are_drawn(results):
    names = [trace.name for trace in FIGURES["head-distances"].draw(results).data if trace.fill is None]
    assert names == ["L0H0", "L0H1", "L0H2", "L3H1", "L3H2", "L3H3", "mean of all heads"]


def test_bins_of_distance_are_named_by_what_they_hold():
    assert span_names(np.array([0, 1, 2, 3, 5, 9])) == ["0", "1", "2", "3–4", "5–8", "9+"]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 20), st.integers(0, 99))
def test_maps_are_shown_once_and_a_lone_kind_is_among_them(count, seed):
    maps = np.full((20, 3, 3), 1 / 3)
    lone = seed % 20
    maps[lone] = np.eye(3)
    chosen = most_unlike(maps, count)
    assert len(set(chosen)) == count
    assert lone in chosen


def test_a_title_needs_the_margin_of_all_heads_at_once(results):
    one, margin = per_head(results, "heads/distance"), 0.01 * stats.t.ppf(1 - 0.025 / 16, 15)
    words = FIGURES["head-distances"].finding(results)
    assert f"{one.value[-1]:.3f} ± {margin:.3f} tokens (L3H3)" in words
    assert labels(results, "heads/distance")[-1] == "L3H3"


@pytest.mark.parametrize("margin", [0.0, 0.05, 0.2, np.nan])
def test_a_share_is_beyond_doubt_where_intervals_do_not_meet(margin):
    share = np.array([[0.6, 0.4], [0.3, 0.7]])
    assert beyond_doubt(share, np.full((2, 2), margin)).tolist() == [2 * margin < 0.2, 2 * margin < 0.4]


def test_similar_sides_are_not_told_apart(results, changed):
    same = changed(results, mixing__similarity_output=0.31)
    assert "more alike than the states in all 4 blocks" in FIGURES["token-similarity"].finding(results)
    assert "is not determined" in FIGURES["token-similarity"].finding(same)


def test_names_are_counted_and_weighed_against_the_twin(results, changed):
    assert FIGURES["head-names"].finding(results).startswith("Of 16 heads 2 induction, 2 duplicate")
    wide = changed(results, **{f"taxonomy__{name}_se": 9.0 for name in ("induction", "duplicate", "previous", "sink")})
    assert ". 2 of the 10 names" in FIGURES["head-names"].finding(wide)
    assert FIGURES["head-names"].finding(changed(results, taxonomy__kind="")).startswith("None of 16 heads")
    assert FIGURES["head-names"].finding(changed(results, taxonomy__kind="<b>")).startswith("None of 16 heads")


def test_scores_are_drawn_where_no_head_or_every_head_is_named_by_them(results, changed):
    for kind, legend in (("uniform", "other heads"), ("sink", "heads named by this score")):
        figure = FIGURES["head-scores"].draw(changed(results, taxonomy__kind=kind))
        shown = [trace.name for trace in figure.data if trace.showlegend]
        assert len(shown) == len(set(shown))
        assert legend in shown


@pytest.mark.parametrize("name", [name for name, one in FIGURES.items() if one.needs[0].split("/")[0] in MEASURED])
def test_what_is_not_known_is_said(results, changed, name):
    every = {f"{group}__{variable}": np.nan for group in MEASURED for variable in results[group].data_vars}
    empty = changed(results, **every)
    assert "not determined" in FIGURES[name].finding(empty)
    FIGURES[name].draw(empty)


@pytest.mark.parametrize(
    ("name", "path"),
    [("head-dissection", "dissection/energy_position"), ("head-argmax", "qk_smoothness/argmax_share")],
)
def test_every_head_stands_beside_its_null(results, changed, name, path):
    own, null = FIGURES[name].draw(results).data
    assert own.y == pytest.approx(100 * results[path].values.ravel())
    assert null.y == pytest.approx(100 * results[f"{path}_null"].values.ravel())
    assert null.name.startswith("null: ")
    assert null.marker.line.color == NULL
    assert null.text == own.text
    assert ", and 15 of 16 heads have more than the highest of these" in FIGURES[name].finding(results)
    high = changed(results, **{f"{path}_null".replace("/", "__"): 2.0})
    assert ", and 0 of 16 heads" in FIGURES[name].finding(high)
    without = changed(results, **{f"{path}_null".replace("/", "__"): None})
    assert "what chance gives is not determined" in FIGURES[name].finding(without)


def test_smoothness_is_the_mean_over_heads_with_a_band_for_the_logits_alone(results):
    figure = FIGURES["head-smoothness"].draw(results)
    curves = {(trace.name, trace.xaxis): trace for trace in figure.data if trace.fill is None}
    assert {name for name, _ in curves} == {"P Pᵀ", "P W Pᵀ", "logits", "null of P Pᵀ", "null of P W Pᵀ"}
    node = results["qk_smoothness"]
    assert curves["P W Pᵀ", "x4"].y == pytest.approx(node.low_frequency_share_weighted[..., 10].mean("head").values)
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    assert len(bands) == 4
    margin = 0.01 * stats.t.ppf(0.975, 6)
    assert bands[3].y[:4] == pytest.approx(curves["logits", "x4"].y + margin)
    assert (
        FIGURES["head-smoothness"]
        .finding(results)
        .startswith(
            "Of the energy, frequencies 0 to 10 hold, over the blocks: P Pᵀ 68.6 % (turned windows 22.9 %); P W Pᵀ "
        )
    )


def test_six_panels_share_one_scale_and_leave_out_what_a_softmax_does_not_see(results, changed):
    *scores, attention = FIGURES["head-six-panels"].draw(results).data
    assert [trace.name for trace in scores] == [
        "position · position", "position · rest", "rest · position", "rest · rest", "all logits",
    ]  # fmt: skip
    assert len({(trace.zmin, trace.zmax) for trace in scores}) == 1
    assert scores[0].zmin == -scores[0].zmax
    assert attention.zmin == 0
    assert attention.z == pytest.approx(results["six_panels"].pattern.values, nan_ok=True)
    assert np.array_equal(np.isnan(scores[4].z), np.triu(np.ones((24, 24), dtype=bool), 1))
    assert np.nanmean(scores[4].z[1:, 1:], 1) == pytest.approx(np.zeros(23), abs=1e-6)
    assert FIGURES["head-six-panels"].draw(results).data[5].colorscale != scores[0].colorscale
    wild = results["six_panels"].residual_residual.values.copy()
    wild[:, 0] = 1e6
    again = FIGURES["head-six-panels"].draw(changed(results, six_panels__residual_residual=wild)).data[3]
    assert again.zmax == scores[3].zmax
    assert np.array_equal(again.z[1:, 1:], scores[3].z[1:, 1:], equal_nan=True)


def test_the_example_says_which_head_it_is_and_that_nothing_follows(results, changed):
    told = "One window of L1H2, an example from which nothing follows"
    assert FIGURES["head-six-panels"].finding(results).startswith(f"{told}: of all heads the largest share found")
    assert FIGURES["head-six-panels"].finding(changed(results, constituents__share=None)) == told

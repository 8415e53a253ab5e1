"""Kinds of heads, their scores and their dominant QK terms."""

import re

import numpy as np
import pytest

from armillary.figures import FIGURES
from armillary.figures.heads.names import beyond_doubt
from armillary.figures.kit.colours import HEADS, NULL
from armillary.figures.kit.words import number
from armillary.results.schema.naming import KINDS


@pytest.mark.parametrize("margin", [0.0, 0.05, 0.2, np.nan])
def test_a_share_is_beyond_doubt_where_intervals_do_not_meet(margin):
    share = np.array([[0.6, 0.4], [0.3, 0.7]])
    assert beyond_doubt(share, np.full((2, 2), margin)).tolist() == [2 * margin < 0.2, 2 * margin < 0.4]


def test_kinds_are_counted_and_weighed_against_the_control(results, changed):
    figure = FIGURES["head-names"]
    assert figure.finding(results) == "10 of 16 heads have a kind"
    assert figure.detail(results).startswith("2 induction, 2 duplicate-token, 2 previous-token")
    assert "; 6 have no kind, 2 of them uniform" in figure.detail(results)
    wide = changed(results, **{f"taxonomy__{name}_se": 9.0 for name in ("induction", "duplicate", "previous", "sink")})
    assert ". 2 of 10 scores are significantly above the random-weight control" in figure.detail(wide)
    assert figure.finding(changed(results, taxonomy__kind="")).startswith("None of 16 heads")
    assert figure.finding(changed(results, taxonomy__kind="<b>")).startswith("None of 16 heads")
    even = changed(results, taxonomy__kind="uniform")
    assert figure.finding(even).startswith("None of 16 heads")
    assert figure.detail(even) == "16 have no kind, 16 of them uniform"


def test_a_higher_score_of_a_head_of_another_kind_is_named_beside_the_clearest(results, changed):
    kind = np.full((4, 4), "", dtype="<U9")
    kind[0, 0], kind[1, 1] = "local", "previous"
    local = np.full((4, 4), 0.2)
    local[0, 0], local[1, 1] = 0.822, 0.976
    run = changed(results, taxonomy__kind=kind, taxonomy__local=local)
    said = FIGURES["head-scores"].detail(run)
    assert re.search(r"local 82\.2\d* ± [\d.]+ % \(L0H0.*\), where L1H1 \(previous-token head\) has 97\.6 %", said)


def test_every_square_of_the_map_has_all_scores_of_its_head(results):
    for trace in FIGURES["head-names"].draw(results).data:
        for (words,), block, head in zip(trace.customdata, trace.y, trace.x, strict=True):
            assert f"induction {number(100 * results['taxonomy'].induction.values[block, head])} %" in words


def test_scores_are_drawn_where_no_head_or_every_head_has_the_kind(results, changed):
    for kind, name, drawn in (("uniform", "other heads", 16), ("sink", "attention sink", 16), ("sink", "local", 0)):
        figure = FIGURES["head-scores"].draw(changed(results, taxonomy__kind=kind))
        shown = [trace.name for trace in figure.data if trace.showlegend]
        assert len(shown) == len(set(shown))
        assert "other heads" in shown
        assert max(len(trace.x) for trace in figure.data if trace.name == name) == drawn


def test_kinds_have_the_names_of_the_field_and_their_colours(results):
    legend = {trace.name: trace.marker.color for trace in FIGURES["head-names"].draw(results).data}
    assert legend == {KINDS[stored]: colour for stored, colour in HEADS.items()} | {"no kind": NULL}


def test_the_dominant_term_is_written_from_query_to_key(results):
    figure = FIGURES["head-constituents"]
    assert figure.finding(results) == "Residual\u00a0→\u00a0residual is the dominant QK term of 16 of 16 heads"
    assert figure.detail(results) == (
        "Residual → residual dominates 16 heads, significantly in 16; "
        "largest share 60.0 ± 8.7 %, residual → residual in L0H0"
    )


def test_a_head_of_several_kinds_is_coloured_by_its_first_and_the_words_say_so(results, changed):
    kind, sink = np.full((4, 4), "", dtype="<U9"), np.full((4, 4), 0.1)
    kind[1, 2], sink[1, 2] = "induction", 0.9
    run = changed(results, taxonomy__kind=kind, taxonomy__sink=sink)
    coloured = {t.name: list(t.text) for t in FIGURES["head-scores"].draw(run).data if t.marker.color in HEADS.values()}
    assert coloured["induction"] == ["L1H2"]
    assert coloured["attention sink"] == []
    for name in ("head-scores", "head-names"):
        assert "one kind at most" not in FIGURES[name].text
        assert "several kinds" in FIGURES[name].text


@pytest.mark.parametrize("layers", [3, 7, 40])
def test_the_words_beside_a_panel_of_qk_terms_are_no_longer_than_it_is_high(run_of, layers):
    figure = FIGURES["head-constituents"].draw(run_of(layers=layers))
    inside = figure.layout.height - figure.layout.margin.t - figure.layout.template.layout.margin.b
    for axis in figure.select_yaxes(col=1):
        assert 6.9 * len(axis.title.text) < (axis.domain[1] - axis.domain[0]) * inside

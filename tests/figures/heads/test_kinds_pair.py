"""Heads of two runs at the scores that decide their kinds."""

import numpy as np
import pytest

from armillary.figures.heads.kinds_pair import kinds_detail, kinds_figure
from armillary.results.comparing import compare
from armillary.results.kinds import changed_kinds, kinds_of
from armillary.results.store import Run

BOTH = ("smollm2 on c, trained", "smollm2 on c, random <b>weights</b>")


@pytest.fixture
def moved(results, changed):
    """Kinds of a run beside the same run in which L2H1, an induction head, is a local one."""
    bare = results.drop_nodes("residual")
    kind, local = (bare["taxonomy"][name].values.copy() for name in ("kind", "local"))
    kind[2, 1], local[2, 1] = "local", 0.99
    other = changed(bare, taxonomy__kind=kind, taxonomy__local=local)
    return compare(Run(bare), Run(other))["kinds"].to_dataset()


@pytest.fixture
def still(results):
    bare = results.drop_nodes("residual")
    return compare(Run(bare), Run(bare))["kinds"].to_dataset()


def test_the_title_counts_and_the_detail_names_the_head_and_its_score(moved):
    assert changed_kinds(moved) == "1 of 16 heads changes kind"
    by = 100 * (0.99 - float(moved.score_one[0]))
    assert kinds_detail(moved) == f"In L2H1: induction → local by +{by:.1f} ± 3.0 percentage points"


def test_where_nothing_changes_nothing_more_is_said(still):
    assert changed_kinds(still) == "None of 16 heads changes kind"
    assert kinds_detail(still) == ""


def test_every_named_head_is_a_point_at_its_two_scores_filled_where_they_differ(results, moved):
    points = [trace for trace in kinds_figure(moved, BOTH).data if trace.mode == "markers"]
    assert sum(len(trace.x) for trace in points) == (kinds_of(results) != "").sum()
    words = {
        said: (x, y) for trace in points for (said, _), x, y in zip(trace.customdata, trace.x, trace.y, strict=True)
    }
    x, y = words["L2H1: induction → local"]
    assert y == pytest.approx(99)
    assert x == pytest.approx(100 * float(moved.score_one[0]))
    filled = np.concatenate([trace.marker.symbol for trace in points]) == "circle"
    assert filled.sum() == 1


def test_the_axes_name_the_runs_and_show_markup_as_text(moved):
    figure = kinds_figure(moved, BOTH)
    assert figure.layout.xaxis.title.text.replace("<br>", " ") == "score in 1: smollm2 on c, trained, %"
    assert "&lt;b&gt;" in figure.layout.yaxis.title.text

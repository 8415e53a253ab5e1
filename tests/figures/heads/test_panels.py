"""One head in one window: an example."""

import numpy as np
import pytest

from armillary.figures import FIGURES


def test_six_panels_share_one_scale_and_leave_out_what_a_softmax_does_not_see(results, changed):
    *scores, attention = FIGURES["head-six-panels"].draw(results).data
    assert [trace.name for trace in scores] == [
        "position → position", "position → residual", "residual → position", "residual → residual", "all logits",
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


def test_the_example_says_which_head_it_is_and_why(results, changed):
    figure = FIGURES["head-six-panels"]
    assert figure.finding(results) == "Example: the QK terms of L1H2 in one window"
    assert figure.detail(results).startswith("L1H2 has the largest position\u00a0→")
    assert figure.detail(changed(results, constituents__share=None)) == ""


def test_the_words_speak_of_an_interval_where_it_stands(results):
    figure = FIGURES["head-six-panels"]
    assert "±" in figure.detail(results)
    assert "±" not in figure.finding(results)
    assert "± of the share" in figure.text
    assert "± in the title" not in figure.text


def test_a_head_is_not_called_by_a_kind_that_no_head_has(results, changed):
    assert FIGURES["head-examples"].finding(results).startswith("The clearest induction head, L0H0: ")
    none = changed(results, taxonomy__kind="sink")
    assert FIGURES["head-examples"].finding(none).startswith("No induction head; nearest L0H0: ")
    steps = FIGURES["head-examples"].draw(none).layout.sliders[0].steps
    assert steps[1].label == "No previous-token head; nearest L1H1"
    unknown = changed(results, taxonomy__kind=None)
    assert FIGURES["head-examples"].finding(unknown).startswith("The clearest induction head")

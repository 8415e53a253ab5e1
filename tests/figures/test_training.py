"""Figures of training runs: what they draw of one, and of two side by side."""

import numpy as np
import pytest
import xarray as xr

import armillary as arm
import made_up
from armillary.figures import available, plot
from armillary.figures.training_pair import PAIRS, pairs
from armillary.reporting.comparison import comparison_report
from armillary.results.comparing import compare

TINY = {"layers": 1, "heads": 2, "width": 16, "batch": 8, "problems": 20, "log_every": 2, "validate_every": 2}
TINY |= {"save_every": 8, "geometry_every": 2, "warmup": 2, "progress": False, "report": False}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    first = arm.train("addition", out=folder / "one", steps=8, gradient=True, **TINY)
    return first, arm.train("addition", out=folder / "other", steps=4, seed=1, **TINY)


def test_the_qk_gradient_has_a_figure_where_it_was_asked_for(runs):
    names = [{figure.name for figure in available(run.results)} for run in runs]
    assert names[0] - names[1] == {"training-gradient"}
    drawn = plot(runs[0].results, "training-gradient")
    terms = runs[0].results["training_heads"].to_dataset()
    np.testing.assert_allclose(drawn.data[1].y, terms.gradient_first.mean(["block", "head"]))
    assert drawn.layout.yaxis.type == "log"


def test_heads_are_coloured_by_block_and_a_bar_says_so_where_there_are_several(runs):
    one_block = plot(runs[0].results, "training-heads")
    assert not one_block.layout.coloraxis.showscale
    several = plot(made_up.run_of(layers=4), "training-heads")
    assert several.layout.coloraxis.showscale
    assert several.layout.coloraxis.colorbar.title.text == "block"
    assert set(several.data[0].marker.color) == {0, 1, 2}


def test_two_runs_are_drawn_over_their_own_steps(runs):
    trees = tuple(run.results for run in runs)
    assert pairs(*trees) == list(PAIRS)
    losses, accuracies, geometries = (pair.draw(trees) for pair in PAIRS)
    for place, tree in enumerate(trees):
        curves = tree["training"].to_dataset()
        kept = np.isfinite(curves.loss_validation.values)
        shown = losses.data[3 * place + 2]
        assert list(shown.x) == curves.step.values[kept].tolist()
        np.testing.assert_allclose(shown.y, curves.loss_validation.values[kept])
        inside = curves.accuracy.sel(digits=curves.trained.values).mean("digits")
        np.testing.assert_allclose(accuracies.data[2 * place].y, 100 * inside.values[np.isfinite(inside.values)])
        scale = tree["training_heads"].to_dataset().frobenius_qk
        np.testing.assert_allclose(geometries.data[place].y, scale.mean(["block", "head"]))


def test_findings_say_what_two_runs_end_at(runs):
    trees = tuple(run.results for run in runs)
    found = [pair.finding(trees) for pair in PAIRS]
    assert found[0].startswith(("Validation losses do not differ", "The validation loss of the second run ends"))
    assert found[1].startswith("Exact match inside the trained lengths ends at ")
    assert found[2].startswith("The mean scale of W_QK ends at ")
    better = trees[1]["training"].to_dataset()
    lower = trees[1].assign(training=xr.DataTree(better.assign(loss_validation=better.loss_validation - 1)))
    assert PAIRS[0].finding((trees[0], lower)).startswith("The validation loss of the second run ends lower: ")


def test_the_report_of_two_training_runs_has_curves_over_steps(runs):
    made = comparison_report(*runs)
    assert [plot.name for plot in made.plots if plot.section == "training"] == [pair.name for pair in PAIRS]
    assert all(plot.figure is not None for plot in made.plots)
    assert "steps (8 / 4)" in made.about
    assert made.missing == []


def test_two_training_runs_are_compared_at_the_steps_that_both_have(runs):
    compared = compare(*runs)["training"].to_dataset()
    assert compared.step_one.values.tolist() == compared.step_other.values.tolist() == [0, 2, 4]
    losses = [run.results["training"].loss_validation.sel(step=4).item() for run in runs]
    assert compared.loss_validation_difference.values[-1] == pytest.approx(losses[1] - losses[0])

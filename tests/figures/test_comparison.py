"""Two runs in one figure: both curves, and a title that says where they differ and no more."""

import re

import numpy as np
import pytest
from scipy import stats

from armillary.errors import RequestError
from armillary.figures.comparison import (
    AXES,
    compare_detail,
    compare_finding,
    compared_curves,
    compared_result,
    run_names,
    told_apart,
)
from armillary.figures.kit.colours import RUN_1, RUN_2
from armillary.figures.kit.words import error_words
from armillary.results.reading import has
from armillary.results.schema import GROUPS
from armillary.results.store import Run

SHARE = "position/share_corrected"
CURVES = [
    f"{group}/{name}"
    for group, rows in GROUPS.items()
    for name, row in rows.variables.items()
    if row.label and row.error != "none" and row.axes in [(axis,) for axis in AXES]
]


def compare_figure(name, one, other):
    return compared_curves(compared_result(name, one, other), run_names(Run(one), Run(other)))


def finding(name, one, other):
    return compare_finding(compared_result(name, one, other))


def detail(name, one, other):
    return compare_detail(compared_result(name, one, other), told_apart(Run(one), Run(other)))


def test_both_runs_are_drawn_with_their_bands(results, changed):
    other = changed(results, position__share_corrected=0.5)
    other.attrs.update(model="n", corpus="d")
    figure = compare_figure(SHARE, results, other)
    curves = {trace.name: trace for trace in figure.data if trace.name}
    assert set(curves) == {"1: m on c", "2: n on d"}
    assert curves["1: m on c"].y == pytest.approx(100 * results["position"].share_corrected.values)
    assert curves["2: n on d"].y == pytest.approx(np.full(5, 50))
    assert sum(trace.fill == "toself" for trace in figure.data) == 2
    assert [curves["1: m on c"].line.color, curves["2: n on d"].line.color] == [RUN_1, RUN_2]
    assert figure.layout.legend.title.text == "band: 95 % interval over documents"
    assert figure.layout.xaxis.title.text == "layer"
    assert figure.layout.yaxis.title.text == "position share, %"


def test_a_difference_is_told_with_its_margin(results, changed):
    one = changed(results, position__share_corrected=[0.1, 0.1, 0.1, 0.1, 0.1])
    other = changed(results, position__share_corrected=[0.1, 0.1, 0.3, 0.1, 0.1])
    margin = 100 * stats.t.ppf(0.975, 15) * 0.004 * np.sqrt(2)
    assert finding(SHARE, one, other) == "The position share differs in layer 2 alone"
    higher = f"Higher in the second run by 20.0 ± {margin:.1f} percentage points (layer 2)"
    assert detail(SHARE, one, other) == higher
    assert detail(SHARE, other, one).startswith("Lower in the second run by 20.0 ± ")
    twice = changed(results, position__share_corrected=[0.1, 0.2, 0.3, 0.1, 0.1])
    assert finding(SHARE, one, twice) == "The position share differs in 2 of 5 layers"


def test_a_difference_names_the_run_that_is_higher_by_what_tells_it_apart(results, changed):
    other = changed(results, position__share_corrected=[0.1, 0.1, 0.9, 0.1, 0.1])
    other.attrs["random_weights"] = "seed 0"
    assert detail(SHARE, results, other).startswith("Higher in the second run (random weights) by ")
    assert detail(SHARE, other, results).startswith("Lower in the second run (trained) by ")


def test_a_title_holds_the_whole_label(results):
    assert "…" not in finding("depth/token_share", results, results)


def test_equal_runs_do_not_differ_significantly(results):
    words = finding(SHARE, results, results)
    assert words == "No significant difference in any layer: position share"
    assert detail(SHARE, results, results) == "A difference of up to 1.67 percentage points is possible (layer 0)"


def test_without_an_error_a_difference_is_not_estimable(results, changed):
    bare = changed(results, position__share_corrected_se=None)
    assert finding(SHARE, results, bare) == "Whether the position share differs is not estimable"
    assert detail(SHARE, results, bare) == ""


def test_runs_of_different_depth_are_drawn_beside_each_other(results, run_of):
    deeper = run_of(layers=9)
    assert finding(SHARE, results, deeper) == "Runs of different depth, not compared: position share"
    figure = compare_figure(SHARE, results, deeper)
    assert figure.layout.xaxis.range[1] > 8


@pytest.mark.parametrize("path", ["norms/norm", "depth/anisotropy", "context/purity", "position/rank_screenot"])
def test_any_group_can_be_compared(results, path):
    assert len(compare_figure(path, results, results).data) >= 2


@pytest.mark.parametrize("path", [*CURVES, "position/rank_screenot"])
def test_results_have_the_words_of_the_schema(results, path):
    group, _, name = path.partition("/")
    assert name in GROUPS[group].variables
    if has(results, path):
        assert "_" not in finding(path, results, results)
        assert "_" not in compare_figure(path, results, results).layout.yaxis.title.text


def test_what_cannot_be_compared_is_said(results):
    message = (
        "expected a result that both runs hold, got position/x, which the run of m lacks: choose GROUP/VARIABLE of "
        "docs/schema.md, as in position/share_corrected"
    )
    for name in ("position/x", "x"):
        with pytest.raises(RequestError, match=f"^{re.escape(message.replace('position/x', name, 1))}$"):
            compare_figure(name, results, results)
    message = (
        "expected one value per layer or block, got position/gram with axes layer, position, position_: choose another "
        "result"
    )
    with pytest.raises(RequestError, match=f"^{re.escape(message)}$"):
        compare_figure("position/gram", results, results)


@pytest.mark.parametrize(
    ("path", "quantile"),
    [
        ("position/rank_stable_corrected", stats.t.ppf(0.975, 7)),
        ("depth/token_share", 100 * stats.t.ppf(0.975, 15)),
        ("mixing/similarity_output", stats.t.ppf(0.975, 6)),
    ],
)
def test_each_result_has_its_own_degrees_of_freedom(results, path, quantile):
    run = results.copy()
    run["mixing"].attrs["groups"] = 7
    figure = compare_figure(path, run, run)
    curve = next(trace for trace in figure.data if trace.name == "1: m on c, first")
    assert curve.customdata[:, 1] - curve.y == pytest.approx(quantile * results[f"{path}_se"].values)
    assert figure.layout.legend.title.text == f"band: {error_words(path)}"


def test_runs_over_the_same_groups_are_paired(results, changed):
    """What both runs owe to their documents cancels: the difference is surer than either curve."""
    rng = np.random.default_rng(0)
    each = 0.1 + 0.01 * rng.standard_normal((5, 16))
    runs = []
    for shift in (0.0, 0.004):
        run = changed(results, position__share_corrected=0.1 + shift)
        run["position"] = (
            run["position"].to_dataset().assign(share_corrected_without=(("layer", "group"), each + shift))
        )
        runs.append(run)
    assert finding(SHARE, *runs) == "The position share differs in all 5 layers"


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (({}, {"random_weights": "seed 0"}), ("m on c, trained", "m on c, random weights")),
        (({"seed": 0}, {"seed": 1}), ("m on c, seed 0", "m on c, seed 1")),
        (({"outliers": "drop"}, {"outliers": "keep"}), ("m on c, outliers: drop", "m on c, outliers: keep")),
        (({}, {}), ("m on c, first", "m on c, second")),
        (({"model": "m"}, {"model": "n"}), ("m on c", "n on c")),
        (({"dtype": "float32"}, {"dtype": "bfloat16"}), ("m on c, dtype float32", "m on c, dtype bfloat16")),
        (
            ({"random_weights": "seed 0"}, {"random_weights": "seed 0", "corpus": "d"}),
            ("m on c, random weights", "m on d, random weights"),
        ),
        (
            ({"random_weights": "seed 0", "model_sha256": "1"}, {"random_weights": "seed 1", "model_sha256": "2"}),
            ("m on c, random weights, seed 0", "m on c, random weights, seed 1"),
        ),
    ],
)
def test_two_runs_never_have_one_name(results, settings, names):
    runs = []
    for given in settings:
        run = results.copy()
        run.attrs.update(given)
        runs.append(Run(run))
    assert run_names(*runs) == names
    drawn = compare_figure(SHARE, runs[0].results, runs[1].results)
    assert {trace.name for trace in drawn.data if trace.name} == {f"1: {names[0]}", f"2: {names[1]}"}

"""Figures of the Gaussian lens: what their titles say by what a run shows."""

import numpy as np
import pytest

from armillary.figures import FIGURES, plot
from made_up import changed, run_of

TITLES = {
    "gaussian-information": {
        "near": ({}, "Neighbouring tokens share 2 nats at layer 0; 4 apart 0.50"),
        "unknown": ({"gaussian__information": np.nan}, "The mutual information of tokens is not estimable"),
    },
    "gaussian-conditional": {
        "more": ({}, "The previous token explains 20 % (layer 0); Gaussian conditionals predict 10 %"),
        "unknown": (
            {"gaussian_tokens__previous_token": np.nan},
            "What a token says of the next state is not estimable",
        ),
    },
    "gaussian-marginal": {
        "fewer": ({}, "The 4 likeliest tokens span 3 directions at most (layer 0); orthogonal ones 4"),
        "unknown": ({"gaussian_tokens__directions": np.nan}, "The directions of likely tokens are not estimable"),
    },
    "gaussian-logits": {
        "off": ({}, "Gaussian queries and keys misjudge the median head's logit variance by 25 %"),
        "unknown": ({"gaussian_logits__factor_median": np.nan}, "The variance of logits is not estimable"),
    },
    "gaussian-ratio": {
        "more": ({}, "Of 12 heads 3 vary significantly more than Gaussian ones, 0 less"),
        "less": (
            {"gaussian_logits__log_ratio": -1.0},
            "Of 12 heads 0 vary significantly more than Gaussian ones, 12 less",
        ),
        "unknown": (
            {"gaussian_logits__log_ratio_se": np.nan},
            "Whether logits are those of Gaussians is not estimable",
        ),
    },
    "gaussian-tails": {
        "heavy": ({}, "Logits of 12 of 12 heads have heavier tails than Gaussian ones would"),
        "unknown": ({"gaussian_logits__excess_kurtosis_low": np.nan}, "The excess kurtosis of logits is not estimable"),
    },
    "gaussian-kept": {
        "part": ({}, "Queries and keys keep 50 % of neighbours' mutual information; random maps 40 %"),
        "unknown": (
            {"gaussian_kept__kept": np.nan},
            "What queries and keys keep of mutual information is not estimable",
        ),
    },
    "gaussian-mixing": {
        "wrong": ({}, "Fixed weights change entropy by −3 nats (median), significantly in 12 of 12 heads"),
        "unknown": ({"gaussian_mixing__entropy_gap_se": np.nan}, "What fixed weights miss is not estimable"),
    },
    "gaussian-depth": {
        "model": ({}, "After the last layer tokens have cosine 0.5; with random weights 0.9"),
        "unknown": (
            {"gaussian_depth__similarity": np.nan},
            "The similarity of tokens through depth is not estimable",
        ),
    },
    "gaussian-stacks": {
        "one": ({}, "Without a skip 2 random layers give tokens a cosine above 0.99"),
        "at once": (
            {"gaussian_stacks__similarity": [[0.0, 1.0, 1.0, 1.0]]},
            "Without a skip one random layer gives tokens a cosine above 0.99",
        ),
        "apart": (
            {"gaussian_stacks__similarity": 0.3},
            "After 3 random layers without a skip tokens have cosine 0.3",
        ),
        "unknown": (
            {"gaussian_stacks__similarity": np.nan},
            "The similarity of tokens in random stacks is not estimable",
        ),
    },
}
CASES = [pytest.param(name, *case, id=f"{name}-{key}") for name, cases in TITLES.items() for key, case in cases.items()]


@pytest.fixture(scope="module")
def results():
    return run_of(layers=4)


def test_every_figure_of_the_section_has_its_titles():
    assert set(TITLES) == {name for name, figure in FIGURES.items() if figure.section == "gaussian"}


@pytest.mark.parametrize(("name", "change", "title"), CASES)
def test_titles_say_what_the_run_shows(results, name, change, title):
    run = changed(results, **change)
    assert FIGURES[name].finding(run) == title
    assert len(title.split()) <= 15
    plot(run, name)


def test_heads_are_dots_at_predicted_and_measured_variance(results):
    trace = plot(results, "gaussian-logits").data[-1]
    assert list(trace.x) == results["gaussian_logits"].variance_predicted.values[..., 1].ravel().tolist()
    assert list(trace.y) == results["gaussian_logits"].variance.values[..., 1].ravel().tolist()


def test_the_layer_that_the_title_names_is_drawn():
    results = run_of(layers=20)
    information = results["gaussian"].information.values.copy()
    information[9] = 9.0
    run = changed(results, gaussian__information=information)
    assert "at layer 9" in FIGURES["gaussian-information"].finding(run)
    names = [trace.name for trace in plot(run, "gaussian-information").data if trace.name]
    assert {"layer 0", "layer 9", "layer 19"} <= set(names)
    assert len(names) == 7


def test_curves_run_over_distance_with_the_null_dashed(results):
    traces = {trace.name: trace for trace in plot(results, "gaussian-information").data}
    assert list(traces["layer 0"].y) == [2.0, 1.0, 0.5]
    assert traces["circular-shift null, largest"].line.dash == "dash"

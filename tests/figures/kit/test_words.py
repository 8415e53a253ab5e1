"""Numbers in sentences: rounded by their error, counted over layers, never more than the intervals allow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from armillary.figures import FIGURES
from armillary.figures.kit.words import OVER, at, contrast, counted, error_words, largest, number, quoted, span
from armillary.results.reading import Estimate


def estimate_of(values, se, groups=16):
    values = np.asarray(values, dtype=float)
    return Estimate("layer", values, np.broadcast_to(float(se), values.shape), values * np.nan, values * np.nan, groups)


def test_false_findings_are_as_rare_as_they_should_be(results, changed):
    """Thirty-one layers of pure noise with known error: the title claims an effect in about one run of forty."""
    rng = np.random.default_rng(0)
    claims = 0
    for _ in range(2000):
        noise = rng.standard_t(15, 31)
        claims += contrast(estimate_of(noise, 1.0)).above.any()
    assert 0.012 < claims / 2000 < 0.04


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=5, max_size=5), st.floats(1e-4, 0.5))
def test_a_claim_needs_an_interval_that_excludes_the_null(results, changed, values, se):
    run = changed(results, position__share_corrected=values, position__share_corrected_se=se)
    words = FIGURES["position-share"].finding(run)
    margin = stats.t.ppf(1 - 0.025 / 5, 15) * se
    significant = np.asarray(values) > margin
    assert words.startswith("Position explains") == significant.any()
    if words.startswith("No effect of position"):
        assert np.max(np.abs(values)) + margin < 0.01


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e7, 1e7), st.floats(1e-4, 1e5))
def test_a_quoted_number_is_within_a_tenth_of_its_margin(value, margin):
    text, error = quoted(value, margin).replace("−", "-").split(" ± ")
    if error.startswith("less than "):
        bound = float(error.removeprefix("less than "))
        assert margin < bound <= max(1e-3 * abs(value), 1)
        assert abs(float(text) - value) <= 0.51 * bound
        return
    assert abs(float(text) - value) <= max(0.06 * margin, 0.5 if margin >= 10 else 0)
    assert float(error) == pytest.approx(margin, rel=0.06)


@pytest.mark.parametrize(
    ("value", "margin", "text"),
    [
        (1.0, 1e-6, "1.0000 ± less than 0.0001"),
        (1.0, 2e-4, "1.00000 ± 0.00020"),
        (-99.5, 3e-4, "−99.50 ± less than 0.01"),
        (0.0, 1e-6, "0.000000 ± 0.000001"),
        (5e5, 0.2, "500000 ± less than 1"),
        (5e5, 2.0, "500000.0 ± 2.0"),
    ],
)
def test_a_margin_far_below_its_number_is_called_small(value, margin, text):
    assert quoted(value, margin) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (12.345, "12.3"),
        (0.01234, "0.0123"),
        (-3.14159, "−3.14"),
        (123456.0, "123456"),
        (1.2e-5, "1.2 × 10⁻⁵"),
        (4.56e12, "4.6 × 10¹²"),
        (999.6, "1000"),
        (float("nan"), "not estimable"),
    ],
)
def test_numbers_have_three_digits_that_count(value, text):
    assert number(value) == text


def test_counts_of_layers_read_as_english():
    assert counted(np.array([True, True])) == "all 2 layers"
    assert counted(np.array([True, False, True])) == "2 of 3 layers"
    assert counted(np.array([False, True])) == "layer 1 alone"
    assert counted(np.array([False, False]), "block") == "no block"
    assert counted(np.array([True])) == "the one layer"


def test_spans_leave_out_what_is_not_known():
    assert span(np.array([0.1, np.nan, 0.25]), "%") == "10 to 25 %"
    assert span(np.array([2.0, 2.0])) == "2"
    assert span(np.array([np.nan])) == "not estimable"
    assert largest(np.array([np.nan, 1.0, 3.0, 2.0])) == 2
    assert largest(np.array([5.0, 1.0]), np.array([False, True])) == 1


def test_a_value_is_quoted_with_what_is_known_of_its_error():
    ranks = Estimate("layer", np.array([3.0]), np.array([np.nan]), np.array([2.0]), np.array([5.0]), 16)
    assert at(ranks, 0) == "3 (leave-one-group-out range 2 to 5)"
    assert at(estimate_of([0.5], 0.01), 0, "%") == "50.0 ± 2.1 %"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("position/share_corrected", "95 % interval over documents"),
        ("taxonomy/induction", "95 % interval over repeats of the random-token test"),
        ("taxonomy/sink", "95 % interval over documents"),
        ("depth/dimension_twonn", "no interval"),
        ("position/rank_screenot", "leave-one-group-out range"),
        ("context/kernel_departure", "no interval"),
    ],
)
def test_a_band_is_named_by_what_the_schema_says_its_error_is_over(path, words):
    assert error_words(path) == words


BANDS = (
    *("leave-one-group-out", "95 % interval by bootstrap", "95 % interval (Clopper–Pearson)"),
    *("95 % interval over walks", "95 % interval over draws of scores", "standard deviation over tokens, not an error"),
)
"""What else a band may be."""


def test_every_figure_with_a_standard_error_says_what_it_is_over(results):
    """A figure that draws a band or bars, or gives ± where one points, names the interval in its text."""
    for figure in FIGURES.values():
        drawn = figure.draw(results).data
        banded = any(
            trace.fill == "toself" or trace.error_y.array is not None for trace in drawn if trace.type == "scatter"
        )
        pointed = any("±" in (trace.hovertemplate or "") for trace in drawn)
        if banded or pointed:
            assert any(words in figure.text + figure.formula for words in (*OVER.values(), *BANDS)), figure.name


def test_twonn_has_no_band_and_says_why(results):
    figure = FIGURES["dimension"]
    drawn = figure.draw(results).data
    assert not any(trace.fill == "toself" for trace in drawn)
    assert [trace.name for trace in drawn] == [
        "TwoNN, all sampled tokens",
        "Gaussian null of the same covariance",
        "TwoNN, parts of 64 tokens",
        "TwoNN, parts of 256 tokens",
    ]
    assert "No interval: it depends on the number of tokens" in figure.text
    assert figure.finding(results) == "The intrinsic dimension (TwoNN) is at most 12 (layer 0)"
    assert figure.detail(results) == "12 over the layers, 7 at 64 tokens; Gaussian null 30"

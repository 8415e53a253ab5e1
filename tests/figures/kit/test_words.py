"""Titles: what they say of a clear effect, of none, and of one that is not determined, and never more."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from armillary.figures import FIGURES
from armillary.figures.kit.words import at, contrast, counted, largest, number, quoted, span
from armillary.results.reading import Estimate

TITLES = {
    "position-share": {
        "clear": (
            {"position__share_corrected": [0, 0, 0.05, 0.2, 0.1], "position__share_corrected_se": 0.01},
            "Position explains up to 20.0 ± 2.9 % of the variance (layer 3); it is told from 0 in 3 of 5 layers",
        ),
        "none": (
            {"position__share_corrected": 0.0005, "position__share_corrected_se": 0.0005},
            "No effect of position is seen: its share of the variance is below 0.197 % in every layer",
        ),
        "open": (
            {"position__share_corrected": 0.03, "position__share_corrected_se": 0.02},
            "The position share is not determined: no layer is told from 0, and up to 8.89 % is possible",
        ),
    },
    "context-similarity": {
        "clear": (
            {},
            "Windows of one document are more alike, in all 5 layers: mean |cosine| 0.500 ± 0.059 within, "
            "0.200 ± 0.029 between (layer 0)",
        ),
        "none": (
            {
                "context__similarity_within": 0.2,
                "context__similarity_within_se": 0.001,
                "context__similarity_between_se": 0.001,
            },
            "Windows of one document are no more alike: less than 0.00589 apart in every layer",
        ),
        "open": (
            {"context__similarity_within": 0.22},
            "Whether windows of one document are more alike is not determined: mean |cosine| 0.220 ± 0.059 within, "
            "0.200 ± 0.029 between (layer 0)",
        ),
    },
    "token-share": {
        "clear": (
            {},
            "The token alone explains up to 50.0 ± 2.9 % of the residual (layer 0; chance 10 %); more than chance in "
            "all 5 layers",
        ),
        "none": (
            {"depth__token_share": 0.1, "depth__token_share_se": 0.001},
            "The token alone explains no more than chance: within 0.295 % of it in every layer",
        ),
        "open": (
            {"depth__token_share": 0.1, "depth__token_share_se": 0.05},
            "What the token alone explains is not determined: no layer is told from chance, up to 14.7 % is possible",
        ),
    },
    "norms": {
        "clear": (
            {},
            "States grow to 16 times their length: their mean norm is 10.00 ± 0.29 in layer 0 and 160.00 ± 0.29 in "
            "layer 4",
        ),
        "none": (
            {"norms__norm": [100, 3, 3, 3, 20], "norms__norm_se": 1},
            "States shrink to 0.2 times their length: their mean norm is 100.0 ± 2.9 in layer 0 and 20.0 ± 2.9 in "
            "layer 4",
        ),
        "open": (
            {"norms__norm": 10, "norms__norm_se": 1},
            "Whether states grow is not determined: their mean norm is 10.0 ± 2.9 in layer 0 and 10.0 ± 2.9 in layer 4",
        ),
    },
    "position-stable-rank": {
        "clear": (
            {},
            "The stable rank of position is 2 to 2.2, highest in layer 4: 2.20 ± 0.29",
        ),
        "none": (
            {"position__rank_stable_corrected": np.nan},
            "The stable rank of position is not determined: position is too weak in every layer",
        ),
        "open": (
            {"position__rank_stable_corrected": [np.nan, 1, 2, 3, np.nan]},
            "The stable rank of position is 1 to 3, highest in layer 3: 3.00 ± 0.29; it is determined in 3 of 5 layers",
        ),
    },
    "position-rank": {
        "clear": ({}, "ScreeNOT counts 12 modes of position, noise alone gives 8; above its noise in all 5 layers"),
        "none": (
            {"position__rank_screenot_null": 11},
            "The number of modes is not determined: ScreeNOT counts 12 modes of position, and noise alone gives 11",
        ),
        "open": (
            {"position__rank_screenot_null": None},
            "ScreeNOT counts 12 modes of position; what noise alone would count is not determined",
        ),
    },
    "position-spectrum": {
        "clear": (
            {},
            "Up to 3 (2 to 4 as documents are left out) modes of position are more than chance (layer 0); at least one "
            "in all 5 layers",
        ),
        "none": (
            {"position__rank_heldout": 0, "position__rank_heldout_low": 0},
            "No mode of position is told from chance in any layer",
        ),
        "open": (
            {"position__rank_heldout": 1, "position__rank_heldout_low": 0, "position__rank_heldout_high": 2},
            "The number of modes is not determined: up to 1 (0 to 2 as documents are left out) modes of position are "
            "more than chance (layer 0), but in no layer always one",
        ),
    },
    "low-frequency-share": {
        "clear": (
            {},
            "Frequencies 0 to 10 hold 68.6 % of the energy of the position vectors' cosines, turned windows 22.9 %; "
            "more than these in all 5 layers",
        ),
        "none": (
            {"position__low_frequency_share_null": 0.67},
            "That position is smooth is not determined: frequencies 0 to 10 hold 68.6 % of the energy of the position "
            "vectors' cosines, turned windows 67 %",
        ),
        "open": (
            {"position__low_frequency_share_null": None},
            "Frequencies 0 to 10 hold 68.6 % of the energy of the position vectors' cosines; what chance gives is not "
            "determined",
        ),
    },
    "incoherence": {
        "clear": (
            {"context__incoherence_mean_null_covariance": 0.01},
            "The mean |cosine| of position and context is 0.06, highest in layer 0: 0.0600 ± 0.0088; vectors of the "
            "same covariance give 0.01: above that in all 5 layers, below it in no layer",
        ),
        "none": (
            {"context__incoherence_mean_null_covariance": 0.06},
            "The mean |cosine| of position and context is 0.06, highest in layer 0: 0.0600 ± 0.0088; vectors of the "
            "same covariance give 0.06: above that in no layer, below it in no layer",
        ),
        "open": (
            {"context__incoherence_mean_null_covariance": None, "context__incoherence_mean_null_rotation": None},
            "The mean |cosine| of position and context is 0.06, highest in layer 0: 0.0600 ± 0.0088; what chance gives "
            "is not determined",
        ),
    },
    "outlier-tokens": {
        "clear": (
            {},
            "6 tokens have a massive norm, up to 34 times the median (layer 4): ‘ the’ ×2, ‘,’ ×1, ‘ of’ ×1, …",
        ),
    },
    "theorem-1": {
        "clear": ({}, "The bound of Theorem 1 holds and is 15 times what is left over"),
        "none": (
            {"position__theorem1_residual": [0.02, 0.6, 0.02, 0.02, 0.02]},
            "The bound of Theorem 1 is kept in 4 of 5 layers only: at worst it is 0.5 times what is left over",
        ),
    },
    "kernel-departure": {
        "clear": (
            {},
            "The kernel departs from factorising by 0.3 nats; the bound of Theorem 2 holds, 30 times as large",
        ),
        "none": (
            {"context__kernel_departure": [0.3, 0.3, 0.3, 0.3, 10]},
            "The kernel departs from factorising by 0.3 to 10 nats; the bound of Theorem 2 is kept in 4 of 5 layers",
        ),
    },
}
CASES = [(name, case) for name, cases in TITLES.items() for case in cases]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_title_says_what_the_run_shows(results, changed, name, case):
    values, expected = TITLES[name][case]
    assert FIGURES[name].finding(changed(results, **values)) == expected


def test_no_outliers_is_a_finding(run_of):
    none = run_of(outliers=0)
    words = "No token of this text is longer than 20 times the median norm of a layer"
    assert FIGURES["outlier-tokens"].finding(none) == words
    assert len(FIGURES["outlier-tokens"].draw(none).data) == 2


def test_without_groups_nothing_is_told_apart(results, changed):
    for name in ("position-share", "context-similarity", "token-share"):
        words = FIGURES[name].finding(changed(results, corpus__group=None))
        assert words.endswith("is not determined: the run gives no error for it")
    assert "± " not in FIGURES["norms"].finding(changed(results, corpus__group=None))


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
    told = np.asarray(values) > margin
    assert words.startswith("Position explains") == told.any()
    if words.startswith("No effect"):
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
        (float("nan"), "not determined"),
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
    assert span(np.array([np.nan])) == "not determined"
    assert largest(np.array([np.nan, 1.0, 3.0, 2.0])) == 2
    assert largest(np.array([5.0, 1.0]), np.array([False, True])) == 1


def test_a_value_is_quoted_with_what_is_known_of_its_error():
    ranks = Estimate("layer", np.array([3.0]), np.array([np.nan]), np.array([2.0]), np.array([5.0]), 16)
    assert at(ranks, 0) == "3 (2 to 5 as documents are left out)"
    assert at(estimate_of([0.5], 0.01), 0, "%") == "50.0 ± 2.1 %"

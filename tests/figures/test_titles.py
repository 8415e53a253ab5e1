"""Titles: what they say of a significant effect, of none, and of one that is not significant, and never more."""

import re

import numpy as np
import pytest

from armillary.figures import FIGURES
from armillary.figures.kit.words import layer_ranges, number, quoted

TITLES = {
    "position-share": {
        "clear": (
            {"position__share_corrected": [0, 0, 0.05, 0.2, 0.1], "position__share_corrected_se": 0.01},
            "Position explains up to 20.0 ± 2.9 % of the variance (layer 3)",
        ),
        "none": (
            {"position__share_corrected": 0.0005, "position__share_corrected_se": 0.0005},
            "No effect of position: it explains less than 0.197 % of every layer's variance",
        ),
        "open": (
            {"position__share_corrected": 0.03, "position__share_corrected_se": 0.02},
            "The position share is not significant in any layer; up to 8.89 % is possible",
        ),
    },
    "context-similarity": {
        "clear": (
            {},
            "Contexts cluster by document in all 5 layers",
        ),
        "none": (
            {"context__similarity_within": 0.22},
            "Contexts do not cluster by document: no layer is above 19 shuffles",
        ),
        "open": (
            {"context__similarity_within_null": None},
            "Whether contexts cluster by document is not estimable: this run has no null for it",
        ),
    },
    "token-share": {
        "clear": (
            {},
            "The token explains up to 50.0 ± 2.9 % of the residual (layer 0)",
        ),
        "none": (
            {"depth__token_share": 0.1, "depth__token_share_se": 0.001},
            "The token explains no more than the null: within 0.295 % of it everywhere",
        ),
        "open": (
            {"depth__token_share": 0.1, "depth__token_share_se": 0.05},
            "What the token explains is not significant in any layer; up to 14.7 % is possible",
        ),
    },
    "norms": {
        "clear": (
            {},
            "The residual norm grows 16-fold from layer 0 to layer 4",
        ),
        "none": (
            {"norms__norm": [100, 3, 3, 3, 20], "norms__norm_se": 1},
            "The residual norm shrinks to 0.2 of its value from layer 0 to layer 4",
        ),
        "open": (
            {"norms__norm": 10, "norms__norm_se": 1},
            "The residual norm does not grow significantly from layer 0 to layer 4",
        ),
    },
    "position-stable-rank": {
        "clear": (
            {},
            "The positional basis has a stable rank of at most 2.20 ± 0.35 (layer 4)",
        ),
        "none": (
            {"position__rank_stable_corrected": np.nan},
            "The stable rank of the positional basis is not estimable: position is too weak in every layer",
        ),
        "open": (
            {"position__rank_stable_corrected": [np.nan, 1, 2, 3, np.nan]},
            "The positional basis has a stable rank of at most 3.00 ± 0.35 (layer 3)",
        ),
    },
    "position-rank": {
        "clear": ({}, "ScreeNOT counts up to 12 modes of position (layer 0)"),
        "none": (
            {"position__rank_screenot_null": 11},
            "ScreeNOT counts no more modes of position than of noise in any layer",
        ),
        "open": (
            {"position__rank_screenot_null": None},
            "ScreeNOT counts up to 12 modes of position (layer 0); this run has no null for it",
        ),
    },
    "position-spectrum": {
        "clear": (
            {},
            "3 modes exceed the null in held-out documents (layer 0)",
        ),
        "none": (
            {"position__rank_heldout": 0, "position__rank_heldout_low": 0, "position__rank_heldout_familywise": 0},
            "No mode exceeds the null in held-out documents (layer 0)",
        ),
        "open": (
            {
                "position__rank_heldout": 1,
                "position__rank_heldout_low": 0,
                "position__rank_heldout_high": 2,
                "position__rank_heldout_familywise": 0,
            },
            "1 mode exceeds the null in held-out documents (layer 0)",
        ),
    },
    "low-frequency-share": {
        "clear": (
            {},
            "Position is smooth: frequencies 0 to 10 hold up to 68.6 % (layer 0)",
        ),
        "none": (
            {"position__low_frequency_share_null": 0.67},
            "Position is not significantly smooth: frequencies 0 to 10 hold up to 68.6 % (layer 0)",
        ),
        "open": (
            {"position__low_frequency_share_null": None},
            "Frequencies 0 to 10 hold up to 68.6 % (layer 0); this run has no null for it",
        ),
    },
    "incoherence": {
        "clear": (
            {"context__incoherence_mean_null_covariance": 0.01},
            "Position and context have a mean |cosine| of at most 0.06 (layer 0)",
        ),
        "none": (
            {"context__incoherence_mean_null_covariance": 0.06},
            "Position and context have a mean |cosine| of at most 0.06 (layer 0)",
        ),
        "open": (
            {"context__incoherence_mean_null_covariance": None, "context__incoherence_mean_null_rotation": None},
            "Position and context have a mean |cosine| of at most 0.06 (layer 0)",
        ),
    },
    "qk-alignment": {
        "clear": ({}, "W_QK is unlike independent factors in all 16 heads; in the control in none"),
        "none": (
            {f"weights__{score}_qk_z": 0.5 for score in ("trace", "top", "overlap")},
            "W_QK is unlike independent factors in none of 16 heads; in the control in none",
        ),
        "open": (
            {"weights_twin__trace_qk_z": None},
            "W_QK is unlike independent factors in all 16 heads",
        ),
    },
    "localization-agreement": {
        "clear": (
            {"localization_agreement__rho_agreement": 0.5, "localization_agreement__rho_agreement_se": 0.1},
            "Heads rank as predicted: rank correlation of predicted and measured ρ over heads: 0.50 ± 0.32",
        ),
        "opposite": (
            {"localization_agreement__rho_agreement": -0.5, "localization_agreement__rho_agreement_se": 0.1},
            "Heads rank opposite to what is predicted: rank correlation of predicted and measured ρ over heads: "
            "−0.50 ± 0.32",
        ),
        "none": (
            {"localization_agreement__rho_agreement": 0.2, "localization_agreement__rho_agreement_se": 0.1},
            "Not significant: rank correlation of predicted and measured ρ over heads: 0.20 ± 0.32",
        ),
        "open": (
            {"localization_agreement__rho_agreement": 0.2, "localization_agreement__rho_agreement_se": None},
            "Rank correlation of predicted and measured ρ over heads: 0.2; this run gives no error for it",
        ),
    },
    "localization-plane": {
        "clear": ({}, "Predicted focus is late in 4 of 16 heads"),
        "open": (
            {"localization__xi_data": np.nan},
            "Predicted focus is late in 4 of 16 heads",
        ),
    },
    "localization-profiles": {
        "clear": (
            {"localization__rho_data": 0.5, "localization__rho_data_published": 0.25},
            "The published ρ is off by up to 0.25, 0.25 in the median head",
        ),
        "open": (
            {"localization__rho_data_published": np.nan},
            "The published ρ is not estimable: tr W² ≤ 0 in every head",
        ),
    },
    "matrix-outliers": {
        "clear": (
            {"matrices__outlier_energy": 0.3, "matrices_twin__outlier_energy": 0.0},
            "Up to 30 % of a matrix's energy is above noise (query, block 0); control 0 %",
        ),
        "open": ({"matrices__outlier_energy": np.nan}, "Noise in the matrices is not estimable"),
    },
    "matrix-tails": {
        "clear": ({"matrices__alpha": 2.5}, "Tails of matrix spectra have a median exponent of 2.5"),
        "open": ({"matrices__alpha": np.nan}, "Power-law tails are not estimable: too few values"),
    },
    "qk-symmetry": {
        "clear": (
            {"weights__symmetry": 0.6, "weights_twin__symmetry": 0.5},
            "W_QK has a median symmetry of 0.6; the control 0.5",
        ),
        "open": ({"weights__symmetry": np.nan}, "The symmetry of W_QK is not estimable"),
    },
    "qk-spectra": {
        "clear": (
            {"weights__singular_value_qk": 3.0, "weights__singular_value_qk_null": 2.0},
            "The largest singular value of W_QK is 1.5 times that of independent factors (median head)",
        ),
        "open": ({"weights__singular_value_qk": np.nan}, "The spectra of W_QK are not estimable"),
    },
    "rotary-planes": {
        "clear": (
            {"weights__rotary_energy": 0.125},
            "The slowest quarter of RoPE's planes holds 25 % of energy; even: 25 %",
        ),
    },
    "rotary-distance": {
        "clear": (
            {"weights__trace_qk_distance": 2.0},
            "At distance 4 the trace of W_QK is 1 times that at 0 (median head)",
        ),
        "open": ({"weights__trace_qk_distance": np.nan}, "The trace of W_QK by distance is not estimable"),
    },
    "outlier-tokens": {
        "clear": (
            {},
            "6 tokens reach up to 34 times the median norm (layer 4)",
        ),
    },
    "theorem-1": {
        "clear": ({}, "The corrected bound of Theorem 1 holds, at least 15 times what is left over"),
        "none": (
            {"position__theorem1_residual": [0.02, 0.6, 0.02, 0.02, 0.02]},
            "The corrected bound of Theorem 1 holds in 4 of 5 layers only",
        ),
    },
    "kernel-departure": {
        "clear": (
            {},
            "The kernel departs from factorisation by up to 0.3 nats (layer 0)",
        ),
        "none": (
            {"context__kernel_departure": [0.3, 0.3, 0.3, 0.3, 10]},
            "The kernel departs from factorisation by up to 10 nats (layer 4)",
        ),
    },
}
MEASURED = ("heads", "mixing", "constituents", "dissection", "qk_smoothness", "six_panels")
CASES = [(name, case) for name, cases in TITLES.items() for case in cases]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_title_says_what_the_run_shows(results, changed, name, case):
    values, expected = TITLES[name][case]
    assert FIGURES[name].finding(changed(results, **values)) == expected


def test_without_groups_nothing_is_significant(results, changed):
    bare = changed(results, corpus__group=None, head_groups__windows=None)
    for name in ("position-share", "token-share"):
        assert FIGURES[name].finding(bare).endswith("is not estimable: this run gives no error for it")
    assert "± " not in FIGURES["norms"].finding(bare)


@pytest.mark.parametrize(
    "name", [name for name, figure in FIGURES.items() if figure.needs[0].split("/")[0] in MEASURED]
)
def test_what_is_not_known_is_said(results, changed, name):
    every = {f"{group}__{variable}": np.nan for group in MEASURED for variable in results[group].data_vars}
    empty = changed(results, **every)
    assert "not estimable" in FIGURES[name].finding(empty)
    FIGURES[name].draw(empty)


NOT_TO_USE = (
    "turned", "told", "plain formula", "small-sample bias", "likeness", "alike", "not determined", "twin", "so many",
    "anew", "global", "rest of", "taken off", "left out)", "chance gives", "came", "as printed",
)  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_figures_speak_the_language_of_the_field(results, name):
    figure = FIGURES[name]
    drawn = figure.draw(results)
    shown = [figure.finding(results), figure.text, figure.formula, figure.source]
    shown += [str(trace.name) for trace in drawn.data] + [str(axis.title.text) for axis in drawn.select_yaxes()]
    for text in shown:
        assert not [word for word in NOT_TO_USE if re.search(rf"\b{re.escape(word)}", text)], text


def test_windows_are_said_to_cluster_only_where_they_do(results, changed):
    figure = FIGURES["context-similarity"]
    assert figure.finding(results) == "Contexts cluster by document in all 5 layers"
    same = changed(results, context__similarity_within=0.2)
    assert figure.finding(same).startswith("Contexts do not cluster by document")
    windows = results["corpus"].sizes["context"]
    few = {"corpus__document_index": np.maximum(np.arange(windows), 2)}
    assert figure.finding(changed(results, **few)) == "Windows of one document are more alike in all 5 layers"
    assert figure.finding(changed(same, **few)) == "Windows of one document are no more alike than shuffled ones"
    assert "3 pairs of one document; more alike: above all 19 " in figure.detail(changed(results, **few))


DETAILS = {
    "position-share": "Significant in all 5 layers; 2 to 10 % over the layers",
    "position-spectrum": "Held-out rank at most 3 (leave-one-group-out range 2 to 4) in layer 0; significantly at "
    "least 1 in all 5 layers",
    "position-rank": "Position 12, noise 8; above noise in all 5 layers",
    "low-frequency-share": "68.6 % of the Gram energy, circular-shift null 22.9 %; above it in all 5 layers",
    "context-similarity": "Mean |cosine| 0.5 within, 0.2 between documents (layer 0); 112 pairs of one document; "
    "clusters: above all 19 "
    "shuffles of the documents",
    "norms": "From 10.00 ± 0.29 (layer 0) to 160.00 ± 0.29 (layer 4)",
    "token-share": "50 % over the layers, null 10 %. Significant in all 5 layers",
    "kernel-departure": "0.3 nats over the layers; the bound of Theorem 2 holds, 30 times as large",
    "dominant-tokens": "They dominate layer 1: ‘a’ ×2. Without them, in layer 1: median CKA with other layers "
    "0.72 → 0.8; participation ratio 2 → 9; position share 4 → 5 %",
}  # fmt: skip


@pytest.mark.parametrize("name", DETAILS)
def test_ranges_nulls_and_counts_stand_in_the_caption(results, name):
    assert FIGURES[name].detail(results) == DETAILS[name]


def words(title):
    return [word for word in title.split() if re.search(r"\w", word)]


def titles(figure, results):
    """The title, and those of every step of a slider."""
    meta = figure.draw(results).layout.meta or {}
    return [figure.finding(results), *meta.get("titles", [])]


@pytest.mark.parametrize("name", FIGURES)
def test_a_title_is_a_finding_of_at_most_15_words_without_a_range(results, changed, name):
    empty = {f"{group}__{variable}": np.nan for group in MEASURED for variable in results[group].data_vars}
    for run in (results, changed(results, **empty), changed(results, corpus__group=None)):
        for title in titles(FIGURES[name], run):
            assert len(words(title)) <= 15, title
            ranges = re.findall(
                r"\d ?%? to \d", title.replace("requencies 0 to", "").replace("from layer 0 to layer", "")
            )
            assert not ranges or name.startswith("training"), title


def test_no_two_figures_have_the_same_title(results):
    every = [figure.finding(results) for figure in FIGURES.values()]
    assert len(set(every)) == len(every)


@pytest.mark.parametrize("name", FIGURES)
def test_a_slider_starts_where_the_title_speaks_of_and_has_a_title_for_every_step(results, name):
    drawn, finding = FIGURES[name].draw(results), FIGURES[name].finding(results)
    titles_of_steps = (drawn.layout.meta or {}).get("titles")
    if not drawn.layout.sliders or titles_of_steps is None:
        assert not (drawn.layout.sliders and re.search(r"\(layer \d+\)", finding)), (
            "a title of one layer above a slider"
        )
        return
    (control,) = drawn.layout.sliders
    assert len(titles_of_steps) == len(control.steps)
    assert titles_of_steps[control.active] == finding
    begins = [trace.visible for trace in drawn.data]
    assert begins == list(control.steps[control.active].args[1])
    layer = re.search(r"\(layer (\d+)\)", finding)
    assert layer is None or control.steps[control.active].label == layer.group(1)


def test_what_is_rounded_to_zero_has_no_minus():
    assert number(-0.0) == "0"
    assert quoted(-0.0004, 0.05, "%") == "0.0 ± 5.0 %"
    assert quoted(-0.4, 0.05) == "−0.400 ± 0.050"


def test_layers_are_named_by_their_ranges():
    mask = np.isin(np.arange(12), [0, 3, 4, 5, 9])
    assert layer_ranges(mask) == "layers 0, 3–5, 9"
    assert layer_ranges(np.arange(4) == 2) == "layer 2"
    assert layer_ranges(np.zeros(4, dtype=bool)) == ""

"""Figures of a simulation: verdicts by what was simulated, one setting at a time, and curves of the theory."""

import numpy as np
import pytest

from armillary.figures import FIGURES
from armillary.figures.simulation.walks import joint_limit

OFF, DEVIATION = "localization_simulation__published_error", "localization_simulation__exact_deviation"
NAMES = [name for name, figure in FIGURES.items() if figure.section == "localization"]
TITLES = {
    "simulated-rho": {
        "holds": ({}, "The published ρ is off by up to 0.4, the exact law within 2 SE"),
        "fails": (
            {DEVIATION: [1.0, 6.0, 2.0]},
            "The exact law is significantly off, by 6 SE; the published ρ by 0.4",
        ),
        "unknown": ({OFF: np.nan}, "How far ρ is off is not estimable"),
    },
    "simulated-attention": {
        "clipped": ({}, "Clipping makes the one middle focus: the softmax gives token 8 up to 91.2 %"),
        "some": (
            {"localization_simulation__regime": "middle"},
            "Clipping makes 1 of 3 middle foci: the softmax gives token 8 up to 91.2 %",
        ),
        "attended": (
            {"localization_simulation__clipped": False},
            "Clipping makes no middle focus; ρ is in the middle in 1 of 3 settings",
        ),
        "none": (
            {"localization_simulation__regime": "late"},
            "In no setting of 3 is ρ in focus in the middle",
        ),
    },
    "simulated-entropy": {
        "middle": ({}, "Where ρ is in the middle, entropy is 0.2 nats (largest 2.08)"),
        "none": (
            {"localization_simulation__regime": "late"},
            "Attention has an entropy of 0.2 to 2 nats (largest 2.08)",
        ),
        "unknown": ({"localization_simulation__entropy": np.nan}, "The entropy of attention is not estimable"),
    },
    "piecewise-softmax": {
        "far": ({}, "At scores of deviation 1 the piecewise softmax is off by 0.2 in total variation"),
    },
    "rho-plane": {
        "off": ({}, "Even for many tokens the published ρ is off by up to 0.3"),
        "unknown": (
            {"localization_theory__rho_published": np.nan},
            "How far the published ρ is off is not estimable",
        ),
    },
    "rho-narrowing": {
        "narrows": ({}, "ρ narrows as ξη grows: 50 % of positions at 1.28, 25 % at 5.12"),
        "not": (
            {"localization_theory__rho_narrowing": 1.0},
            "ρ does not narrow as ξη grows: 100 % of positions at 1.28, 100 % at 5.12",
        ),
    },
    "entropy-bound": {
        "exceeds": ({}, "The published entropy bound exceeds the largest entropy by up to 2 nats"),
        "below": (
            {"localization_theory__bound_published": 2.0},
            "The published entropy bound stays 0.1 nats below the largest entropy",
        ),
    },
}
CASES = [(name, case) for name, cases in TITLES.items() for case in cases]


def test_every_figure_of_the_section_has_its_titles_tested():
    assert set(NAMES) == set(TITLES)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_title_says_what_the_simulation_shows_in_few_words(results, changed, name, case):
    values, expected = TITLES[name][case]
    title = FIGURES[name].finding(changed(results, **values))
    assert title == expected
    assert len([word for word in title.split() if word not in "%="]) <= 15


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_known_is_said(results, changed, name):
    groups = ("localization_simulation", "localization_theory")
    numbers = {
        f"{group}__{variable}": np.nan
        for group in groups
        for variable, values in results[group].data_vars.items()
        if values.dtype.kind == "f"
    }
    empty = changed(results, **numbers)
    assert "not estimable" in FIGURES[name].finding(empty)
    FIGURES[name].draw(empty)


@pytest.mark.parametrize("name", ["simulated-rho", "simulated-attention"])
def test_a_slider_shows_one_setting_at_a_time(results, name):
    figure = FIGURES[name].draw(results)
    shown = np.array([step.args[1] for step in figure.layout.sliders[0].steps])
    assert shown.shape == (3, len(figure.data))
    assert (shown.sum(0) == 1).all()
    assert (shown.sum(1) == len(figure.data) / 3).all()
    assert figure.layout.sliders[0].steps[1].label.startswith("iso 0.5, 0.1")


def test_the_slider_warns_where_clipping_makes_the_middle(results):
    labels = [step.label for step in FIGURES["simulated-attention"].draw(results).layout.sliders[0].steps]
    assert labels == ["iso 0.1, 0.02: late", "iso 0.5, 0.1: middle, by clipping", "aniso 0, 0.1: uniform"]


def test_the_band_of_the_simulated_rho_is_its_95_per_cent_interval(results):
    band = FIGURES["simulated-rho"].draw(results).data[0]
    rho = results["localization_simulation"].rho.values[0]
    corners = np.array(band.y[:-1])
    assert corners[: len(rho)] - rho == pytest.approx(0.0196, abs=1e-4)
    assert rho[::-1] - corners[len(rho) :] == pytest.approx(0.0196, abs=1e-4)


def test_chance_reaches_about_four_standard_errors_in_all_comparisons_of_the_default_run():
    assert joint_limit(1) == pytest.approx(1.95996, abs=1e-4)
    assert joint_limit(18 * 40) == pytest.approx(3.98, abs=0.01)


def test_the_plane_shows_three_panels_for_every_eta(results):
    figure = FIGURES["rho-plane"].draw(results)
    assert [trace.xaxis for trace in figure.data[:3]] == [None, "x2", "x3"]
    assert [step.label for step in figure.layout.sliders[0].steps] == ["η = 0.5", "η = 1"]
    assert np.asarray(figure.data[0].z).shape == (8, 3)
    assert sum(bool(trace.showscale) for trace in figure.data) == 2


def test_no_label_of_a_slider_is_a_number_that_the_explorer_takes_for_a_layer(results):
    for name in NAMES:
        for control in FIGURES[name].draw(results).layout.sliders:
            assert not any(step.label.replace(".", "").isdigit() for step in control.steps)

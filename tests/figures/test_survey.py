"""Figures of a real pass: what a survey gives is enough for every figure."""

import numpy as np
import pytest

import armillary as arm
from armillary.figures import FIGURES, SECTIONS, available, plot

SURVEYED = ("position", "context", "states", "depth")
MEASURED = [name for name, figure in FIGURES.items() if figure.section in SURVEYED]


@pytest.fixture(scope="module")
def run(tiny_llama):
    return arm.survey(tiny_llama, np.random.default_rng(0).integers(3, 97, (40, 48)), progress=False)


def test_a_survey_offers_every_figure_of_states_position_context_and_depth(run):
    assert [figure.name for figure in available(run.results) if figure.section in SURVEYED] == sorted(
        MEASURED, key=lambda name: SECTIONS.index(FIGURES[name].section)
    )


@pytest.mark.parametrize("name", MEASURED)
def test_every_figure_of_a_survey_is_drawn_with_a_finding(run, name):
    figure = plot(run.results, name)
    assert len(figure.data) > 0
    assert "nan" not in figure.layout.title.text.lower()


def test_random_tokens_and_weights_give_no_position_at_the_first_layer(run):
    first = run.results.copy()
    first["position"] = first["position"].to_dataset().isel(layer=[0])
    words = FIGURES["position-share"].finding(first)
    assert words.startswith(("No effect of position", "The position share is not significant"))

"""Figures of stores: what they say of readable and unreadable blocks, and that tokens stay text."""

import re

import numpy as np
import pytest

from armillary.figures import FIGURES, plot

NAMES = ("store-readability", "store-coverage", "store-tokens")
TITLES = {
    "store-readability": {
        "late": ({}, "Triplets are readable in 4 of 6 blocks, most in block 3 (100 %)"),
        "all": ({"stores__peak": 9}, "Triplets are readable in all 6 blocks, most in block 0 (100 %)"),
        "none": (
            {"stores__peak": 5},
            "No block is significantly readable; most triplets in block 0 (0 %)",
        ),
        "unknown": ({"stores__peak": np.nan}, "The readability of triplets is not estimable"),
    },
    "store-coverage": {
        "spread": ({}, "No few triplets make a head: 90 % of W_VO takes 15 of 16"),
        "few": ({"stores__triplets_90": 3}, "A few triplets make a head: 90 % of W_VO takes 3 of 16"),
        "unknown": ({"stores__triplets_90": np.nan}, "The coverage of heads by triplets is not estimable"),
    },
    "store-tokens": {
        "clear": ({}, "The clearest head, L5H3, reads clearly: mean peak z = 9"),
        "none": (
            {"stores__peak_z": 1.5},
            "The clearest head, L0H0, is no clearer than random directions: mean peak z = 1.5",
        ),
        "unknown": ({"stores__peak_z": np.nan}, "The tokens of the clearest head are not estimable"),
    },
}
CASES = [(name, case) for name, cases in TITLES.items() for case in cases]


@pytest.fixture(scope="module")
def deep(run_of):
    return run_of(layers=7)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_title_says_what_the_run_shows(deep, changed, name, case):
    values, expected = TITLES[name][case]
    assert FIGURES[name].finding(changed(deep, **values)) == expected
    assert len(expected.split()) <= 15


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_known_is_drawn_and_said(deep, changed, name):
    held = {f"stores__{variable}": np.nan for variable in deep["stores"].data_vars}
    empty = changed(deep, **held)
    assert "not estimable" in FIGURES[name].finding(empty)
    FIGURES[name].draw(empty)


def test_the_null_and_its_99_percent_point_are_drawn_beside_the_four_sides(deep):
    figure = FIGURES["store-readability"].draw(deep)
    names = [trace.name for trace in figure.data]
    assert names[:4] == ["queries (W_QK)", "keys (W_QK)", "inputs (W_VO)", "outputs (W_VO)"]
    lines = {trace.name: set(trace.y) for trace in figure.data[4:]}
    assert lines == {"random directions, mean": {0.0}, "random directions, 99 % point": {3.0}}


def test_tokens_are_shown_letter_by_letter(deep):
    drawn = plot(deep, "store-tokens")
    cells = [cell for trace in drawn.data for row in trace.text for cell in row]
    assert len(cells) == 2 * 10 * 5
    assert not [cell for cell in cells if re.search(r"<[a-z/]", cell) or "$" in cell]
    assert "&lt;b&gt;bold" in " ".join(cells)

"""The page of two runs: its cards, and what only a page with cards of heads may link to."""

import re

import numpy as np
import pytest

import made_up
from armillary.reporting.comparison import comparison_report
from armillary.reporting.kinds import Curve
from armillary.reporting.page import page
from armillary.reporting.sparkline import sparkline
from armillary.results.store import Run


@pytest.fixture(scope="module")
def one():
    return made_up.run_of().drop_nodes("residual")  # no angles between bases that are made up


def beside(one, **values):
    """The report of a run and the same run with other numbers."""
    other = made_up.changed(one, **values)
    return comparison_report(Run(one), Run(other))


@pytest.fixture(scope="module")
def moved(one):
    """The report of two runs of which the second has an induction head fewer and a local head more."""
    kind, local = (one["taxonomy"][name].values.copy() for name in ("kind", "local"))
    kind[2, 1], local[2, 1] = "local", 0.99
    return beside(one, taxonomy__kind=kind, taxonomy__local=local, norms__norm=900.0)


def kinds_card(report):
    return next(answer for answer in report.answers if answer.question == "Do heads change kind?")


def test_every_card_of_two_runs_has_a_verdict_and_at_most_20_words(moved, one):
    for report in (moved, beside(one), beside(one, position__share_corrected=np.nan)):
        for answer in report.answers:
            assert answer.verdict in ("Yes", "No", "Unclear", "Not measured")
            assert len([word for word in answer.text.split() if re.search(r"\w", word)]) <= 20, answer.text


def test_heads_change_kind_only_where_a_score_differs_significantly(moved, one):
    yes = kinds_card(moved)
    assert yes.verdict == "Yes"
    assert yes.text.startswith("1 of 16 heads changes kind, 1 significantly; in L2H1: induction → local by +")
    assert kinds_card(beside(one)).verdict == "No"
    kind = one["taxonomy"].kind.values.copy()
    kind[2, 1] = ""
    assert kinds_card(beside(one, taxonomy__kind=kind)).verdict == "Unclear"


def test_runs_without_kinds_are_not_asked_about_them(one):
    bare = Run(one.drop_nodes("taxonomy"))
    report = comparison_report(bare, bare)
    assert all(answer.question != "Do heads change kind?" for answer in report.answers)


def test_every_card_leads_to_a_figure_and_no_head_is_a_link_to_a_card_that_is_not_there(moved):
    text = page(moved)
    assert 'id="head-kinds"' in text
    assert "L2H1" in text
    targets = set(re.findall(r'href="#([^"]+)"', text))
    lacking = [target for target in targets if f'id="{target}"' not in text]
    assert lacking == []


@pytest.mark.parametrize("layer", [1, 3])
def test_the_dot_of_a_card_stands_where_the_runs_differ_most(one, layer):
    norm = one["norms"].norm.values.copy()
    norm[layer] += 9
    card = next(card for card in beside(one, norms__norm=norm).answers if card.question.startswith("Does the residual"))
    assert f"(layer {layer})" in card.text
    assert card.curve.dot == layer
    assert sparkline(card.curve).count("<circle") == 1


def test_the_dot_stands_at_the_row_whose_difference_is_possible_where_none_is_significant(one):
    error = one["position"].share_corrected_se.values.copy()
    error[2] *= 3
    report = beside(made_up.changed(one, position__share_corrected_se=error))
    card = next(card for card in report.answers if card.question == "Does the position share differ?")
    assert re.search(r"A difference of up to [\d.]+ percentage points is possible \(layer 2\)", card.text)
    assert card.curve.dot == 2


def test_the_note_says_what_is_solid_and_dashed_only_of_curves_that_are_there(one):
    results = "Small curves: solid the second run, dashed the first."
    assert results in beside(one).note
    assert "angles" not in beside(one).note
    deeper = comparison_report(Run(one), Run(made_up.run_of(layers=9).drop_nodes("residual")))
    assert results not in deeper.note


def test_without_scripts_a_page_of_two_runs_names_the_command_that_has_its_numbers(moved):
    text = page(moved)
    assert "<code>armillary compare</code> prints the numbers" in text
    assert "armillary figure</code>" not in text


def test_a_row_that_is_not_estimable_has_no_dot():
    assert "<circle" not in sparkline(Curve(np.array([1.0, np.nan, 2.0]), at=1))
    assert "nan" not in sparkline(Curve(np.array([1.0, np.nan, 2.0]), at=1))

"""Formulas as MathML: well formed for every figure, prose stays prose, and nothing of the text is lost."""

import re
from html import unescape
from xml.etree import ElementTree

import pytest

from armillary.figures import FIGURES
from armillary.reporting.formulas import formula


def text_of(markup):
    return re.sub(r"\s", "", unescape(re.sub(r"<[^>]*>", "", markup)))


@pytest.mark.parametrize("name", FIGURES)
def test_every_formula_is_well_formed_and_loses_no_letter(name):
    markup = formula(FIGURES[name].formula)
    ElementTree.fromstring(f"<p>{markup}</p>")
    letters = [letter for letter in FIGURES[name].formula if letter.isalpha() and letter not in "ᵀΣ"]
    kept = text_of(markup)
    assert [letter for letter in letters if letter not in kept] == []


@pytest.mark.parametrize("name", FIGURES)
def test_no_factor_slips_into_the_subscript_before_it(name):
    assert not re.search(r"_[a-z]+[A-ZΑ-Ωα-ω]", FIGURES[name].formula), "a space ends a subscript"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x_i", "<msub><mi>x</mi><mrow><mrow><mi>i</mi></mrow></mrow></msub>"),
        ("σ₁²", "<msubsup><mi>σ</mi><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></msubsup>"),
        ("a / b", "<mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac>"),
        ("√d", "<msqrt><mi>d</mi></msqrt>"),
        ("‖P‖op", "<mi>op</mi></msub>"),
    ],
)
def test_notation_becomes_mathematics(text, expected):
    assert expected in formula(text)


def test_brackets_of_a_fraction_are_left_out_and_those_inside_stay():
    markup = formula("(a + b) / (c (d − 1))")
    assert markup.count("<mfrac>") == 1
    assert markup.count("<mo>(</mo>") == 1


def test_words_stay_words_and_markup_is_escaped():
    assert formula("mean over windows") == "mean over windows"
    assert "<b>" not in formula("a <b> & c")


def test_a_word_that_joins_two_formulas_stands_between_them():
    assert (
        re.sub(r"<math.*?</math>", "M", formula("‖W‖ and −Σ p log p, mean over queries"))
        == "M and M, mean over queries"
    )
    assert formula("mean − ω").startswith("<math"), "a word that is a term stays in its formula"


def test_a_covariance_is_no_sum():
    assert "∑" in formula("Σ x_i²")
    assert "∑" not in formula("N(0, Σ)")
    assert "∑" not in formula("|Σ_x||Σ_y|")

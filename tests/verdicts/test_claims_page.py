"""The page of the claims: a summary, and an entry with statement, numbers and reason for each."""

from armillary.verdicts.claims_page import entry, markdown, numbers
from armillary.verdicts.registry import CLAIMS, chosen, verdicts


def test_an_entry_says_what_was_published_what_is_right_and_what_was_measured():
    (found,) = verdicts([CLAIMS["BAO-L1-VAR"]])
    text = entry(CLAIMS["BAO-L1-VAR"], found)
    assert text.startswith("### BAO-L1-VAR\n\nLemma 1, variance. **False as published.**\n")
    assert "- Published: v^i = (2i²/T² + 7/12) tr W²/λ² + o(1)\n" in text
    assert "`localization.walk.moments`" in text
    assert "[BAO-L4](#bao-l4)" in text
    assert f"- Numbers: {numbers(found)}\n" in text
    assert "published 1.564, corrected 0.105, measured" in numbers(found)


def test_the_page_counts_the_verdicts_of_each_document():
    found = verdicts(chosen("TW"))
    page = markdown(found)
    assert "| TW | 9 | 3 | 3 | 15 |" in page
    assert "12 of 15 claims are checked without a model; 3 more are answered by a run." in page
    assert page.count("\n### ") == len(found)
    assert numbers(found[-1]) == ""


def test_where_a_norm_is_spoken_of_a_norm_is_shown():
    for found in verdicts([CLAIMS["TW-LN"], CLAIMS["TW-RMS"]]):
        assert numbers(found).endswith("d = 64: published 8, corrected 8, measured 8")

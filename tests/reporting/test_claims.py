"""The claims' section of a report: counts, a field to search, every text escaped."""

from armillary.reporting.claims import claims_section
from armillary.verdicts.claim import Verdict
from armillary.verdicts.registry import CLAIMS, verdicts


def test_the_section_holds_counts_a_search_field_and_a_row_for_each_claim():
    found = verdicts([CLAIMS["TW-LN"], CLAIMS["TW-BREAK"]])
    text = claims_section(found)
    assert text.count("<tr><td><b>TW-") == 2
    assert 'input type="search" id="claims-words"' in text
    assert "<th>TW</th><td>1</td><td>1</td><td>2</td>" in text


def test_texts_are_escaped():
    nan = float("nan")
    one = Verdict("<b>", "TW", "<script>", "holds exactly", nan, nan, nan, nan, "a & b", "<i>", "here")
    text = claims_section([one])
    assert "<script>" not in text
    assert "a &amp; b" in text

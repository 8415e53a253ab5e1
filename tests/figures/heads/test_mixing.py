"""What attention does to the tokens of a window."""

from armillary.figures import FIGURES


def test_sides_within_their_margins_do_not_differ_significantly(results, changed):
    same = changed(results, mixing__similarity_output=0.31)
    assert "significantly more similar in all 4 blocks" in FIGURES["token-similarity"].finding(results)
    assert "does not differ significantly" in FIGURES["token-similarity"].finding(same)

"""Massive activations: none is a finding too."""

from armillary.figures import FIGURES


def test_no_outliers_is_a_finding(run_of):
    none = run_of(outliers=0)
    words = "No token of this text exceeds 20 times the median norm of a layer"
    assert FIGURES["outlier-tokens"].finding(none) == words
    assert len(FIGURES["outlier-tokens"].draw(none).data) == 2

"""A claim knows its document, what its numbers are, and which measures its check calls."""

from armillary.verdicts.bao_moments import variance
from armillary.verdicts.claim import DOCUMENTS, claims_among, unchecked
from armillary.verdicts.song_zhong_kernels import tables
from armillary.verdicts.trained_models import low_rank


def test_a_claim_says_what_it_is():
    assert (variance.id, variance.document) == ("BAO-L1-VAR", "BAO")
    assert variance.runnable
    assert variance.quantity.startswith("Variance of g")
    assert "localization.walk.moments" in variance.uses
    assert "localization.walk.published_moments" in variance.uses


def test_a_claim_about_a_model_needs_results_and_one_without_check_uses_nothing():
    assert not low_rank.runnable
    assert low_rank.needs[0] == "position/rank_stable_corrected"
    assert not tables.runnable
    assert tables.uses == ()


def test_claims_of_a_file_are_found_in_their_order():
    first, second = (unchecked(f"TW-{name}", "", "", "") for name in "AB")
    assert claims_among({"a": first, "other": 3, "b": second}) == (first, second)
    assert set(DOCUMENTS) == {"BAO", "SZ", "TW", "WE"}

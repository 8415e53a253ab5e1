"""`arm.claims`: a list of verdicts, for a run in memory too, the same again for the same seed."""

import pytest

import armillary as arm
from armillary.results.store import Run
from tests.kit.made_up import run_of


def test_verdicts_are_a_list_and_the_same_for_the_same_seed():
    first, again = (arm.claims(ids=["TW-RESID", "BAO-L4"], seed=5) for _ in range(2))
    assert isinstance(first, list)
    assert [one.id for one in first] == ["BAO-L4", "TW-RESID"]
    assert repr(first) == repr(again)
    assert repr(arm.claims(ids="TW-RESID", seed=6)) != repr(first[1:])
    assert first.frame().loc["BAO-L4", "verdict"] == "false as published"


def test_a_run_in_memory_answers_for_its_model_and_stays_as_it_is():
    run = Run(run_of())
    (found,) = arm.claims(ids=["SZ-SMOOTH"], run=run)
    assert found.verdict != "not checkable here"
    assert "claims" not in run.results.children


def test_a_negative_seed_is_refused():
    with pytest.raises(arm.RequestError, match="expected a seed of at least 0, got -1: choose another"):
        arm.claims("TW", seed=-1)


def test_a_claim_about_a_model_without_a_run_is_refused():
    with pytest.raises(arm.RequestError, match="expected a run for WE-8-ALIGN"):
        arm.claims(ids=["WE-8-ALIGN"])

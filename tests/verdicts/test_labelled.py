"""Verdicts survive a file: labelled, written, read."""

import armillary as arm
from armillary.results import store
from armillary.verdicts.labelled import labelled_verdicts, verdicts_of
from armillary.verdicts.registry import chosen, verdicts


def test_verdicts_are_the_same_after_writing_and_reading(tmp_path):
    found = verdicts(chosen("TW"), seed=3)
    dataset = labelled_verdicts(found, 3)
    assert dataset["published"].attrs["long_name"].startswith("what the published statement gives")
    store.write(tmp_path, "claims.nc", {"claims": dataset}, {})
    run = arm.open(tmp_path)
    assert [repr(one) for one in verdicts_of(run.results)] == [repr(one) for one in found]
    assert run.results["claims"].attrs["seed"] == 3
    assert run.title == "Simulated checks of published claims"


def test_a_run_without_claims_has_no_verdicts():
    assert verdicts_of(store.tree_of({}, {})) == []

"""The whole registry runs, says the same again, and refuses what it does not know."""

import re
import time
from pathlib import Path

import numpy as np
import pytest

from armillary.errors import RequestError
from armillary.results.schema import GROUPS
from armillary.verdicts import registry
from armillary.verdicts.claim import BROKEN, DOCUMENTS, FALSE, UNCHECKED, VACUOUS, VERDICTS
from armillary.verdicts.claims_page import markdown
from armillary.verdicts.registry import CLAIMS

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"


@pytest.fixture(scope="module")
def found():
    began = time.process_time()
    made = {one.id: one for one in registry.verdicts(list(CLAIMS.values()), seed=0)}
    assert time.process_time() - began < 300
    return made


def test_the_whole_registry_runs_and_every_verdict_is_one_of_the_words(found):
    assert sum(claim.runnable for claim in CLAIMS.values()) >= 110
    assert {one.verdict for one in found.values()} <= set(VERDICTS) - {BROKEN}
    for one in found.values():
        assert (one.verdict == UNCHECKED) == (not CLAIMS[one.id].runnable), one.id
        assert one.why
        assert not one.why.startswith("Correct: .")
        if CLAIMS[one.id].runnable:
            assert one.quantity, one.id
            assert np.isfinite([one.published, one.corrected, one.measured]).any(), one.id


def test_every_verdict_is_the_same_for_the_same_seed_whatever_else_is_asked(found):
    some = [CLAIMS[name] for name in ("BAO-L1-VAR", "SZ-ANOVA", "TW-RESID", "BAO-L4")]
    for one in registry.verdicts(some, seed=0):
        assert repr(one) == repr(found[one.id])
    assert repr(registry.verdicts(some[:1], seed=1)[0]) != repr(found["BAO-L1-VAR"])


def test_known_errors_are_found_and_what_holds_is_said_to(found):
    false = ("BAO-L1-VAR", "BAO-EQ6", "BAO-EQ9", "BAO-LOC-GRAD-3/4", "SZ-T1-BASIS", "SZ-T1-LEM2", "TW-BREAK")
    assert {found[name].verdict for name in (*false, "WE-2.2-CE", "WE-5.1-LN", "WE-6.34")} == {FALSE}
    assert found["WE-7.2.1-LINFORMER"].verdict == VACUOUS
    assert {found[name].verdict for name in ("BAO-L3", "SZ-ANOVA", "TW-LN", "WE-2.2-H")} == {"holds exactly"}


def test_ids_and_claims_that_others_rest_on_are_known():
    for claim in CLAIMS.values():
        assert re.fullmatch(r"(BAO|SZ|TW|WE)-[A-Z0-9./-]+", claim.id)
        assert set(claim.rests_on) <= set(CLAIMS), claim.id
        for path in claim.needs:
            group, _, variable = path.partition("/")
            assert variable in GROUPS[group].variables, path


def test_most_checks_call_measures():
    runnable = [claim for claim in CLAIMS.values() if claim.runnable]
    assert sum(bool(claim.uses) for claim in runnable) > 0.85 * len(runnable)


def test_documents_and_ids_are_chosen_in_any_case_of_letters():
    assert {claim.document for claim in registry.chosen("tw")} == {"TW"}
    assert [claim.id for claim in registry.chosen(ids=["bao-l1-var", "TW-LN"])] == ["BAO-L1-VAR", "TW-LN"]
    assert [claim.id for claim in registry.chosen(ids="tw-ln")] == ["TW-LN"]
    assert len(registry.chosen()) == len(CLAIMS)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"ids": ["BAO-L1-VARR"]}, "expected the id of a claim, got 'BAO-L1-VARR': did you mean BAO-L1-VAR"),
        ({"ids": ["nothing like it"]}, "expected the id of a claim, got 'NOTHING LIKE IT': `armillary claims` lists"),
        ({"document": "XY"}, f"expected a document, got 'XY': choose {', '.join(DOCUMENTS)}"),
    ],
)
def test_what_is_not_known_is_refused_with_near_names(asked, message):
    with pytest.raises(RequestError, match=re.escape(message)):
        registry.chosen(**asked)


def test_a_claim_about_a_model_asks_for_a_run_and_says_which_command_makes_it():
    claims = [CLAIMS["SZ-EQ8"]]
    with pytest.raises(RequestError, match=r"expected a run for SZ-EQ8, .* that `armillary heads RUN` made"):
        registry.refuse_lacking(claims, None)
    (one,) = registry.verdicts(claims)
    assert one.verdict == UNCHECKED
    assert "`armillary heads RUN` makes one" in one.why


def without_numbers(page):
    """A page without what the last digits of a machine may change."""
    lines = [line for line in page.splitlines() if not line.startswith("- Numbers: ")]
    return [line.split(": ")[0] if line.startswith("- Why: ") else line for line in lines]


def test_the_page_of_the_claims_is_the_registry(found):
    page = PAGE.read_text(encoding="utf-8")
    advice = "run: python -m armillary.verdicts.claims_page > docs/claims.md"
    assert without_numbers(page) == without_numbers(markdown(list(found.values()))), advice

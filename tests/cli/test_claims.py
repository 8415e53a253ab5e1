"""`armillary claims` as a user types it: a table, JSON, one claim in full, errors of one line."""

import json

import armillary as arm


def test_a_document_prints_its_summary_and_its_claims(command):
    code, out, err = command("claims", "--document", "tw")
    assert (code, err) == (0, "")
    assert out.startswith("Claims of four documents, checked")
    assert "TW-RESID" in out
    assert "BAO-" not in out
    assert "exact: an identity to rounding" in out, "the word is not said twice"
    assert "--id ID says what was measured and why" in out


def test_one_claim_is_told_in_full(command):
    code, out, _ = command("claims", "--id", "TW-BREAK", "--id", "tw-ln")
    assert code == 0
    assert "Published: a non-zero scale or bias turns the sphere" in out
    assert "TW-LN " in out


def test_json_gives_every_field(command):
    code, out, _ = command("claims", "--document", "TW", "--json", "--seed", "2")
    found = json.loads(out)
    assert code == 0
    assert {"id", "document", "statement", "verdict", "published", "corrected", "measured", "se", "why"} <= set(
        found[0]
    )
    assert next(one for one in found if one["id"] == "TW-RESID")["published"] == 8


def test_unknown_ids_and_documents_are_refused_in_one_line(command, refused):
    assert "did you mean TW-BREAK" in refused(command("claims", "--id", "TW-BRAEK"))
    assert "got 'foo': `armillary claims` lists them all" in refused(command("claims", "--id", "foo"))
    assert "choose BAO, SZ, TW, WE" in refused(command("claims", "--document", "song"))
    assert "which is about a trained model, got none" in refused(command("claims", "--id", "SZ-RANK"))


def test_a_run_keeps_its_verdicts_and_says_what_it_lacks(command, refused, tmp_path):
    folder = tmp_path / "run"
    arm.simulate(walks=2, length=4, width=4, draws=1, out=folder, report=False)
    code, out, _ = command("claims", "--document", "TW", "--run", str(folder), "--json")
    found = {one["id"]: one for one in json.loads(out)}
    assert code == 0
    assert (
        "This run lacks /norm_geometry/radius_before: `armillary weights MODEL --run RUN` adds it."
        in found["TW-SPHERE"]["why"]
    )
    kept = arm.open(folder).results
    assert {"claims", "localization_simulation"} <= set(kept.children)
    assert list(kept["claims"]["claim"].values) == list(found)
    line = refused(command("claims", "--id", "SZ-EQ8", "--run", str(folder)))
    assert (
        "expected a run with /qk_smoothness/argmax_share for SZ-EQ8, got one without: `armillary heads RUN` adds"
        in line
    )
    assert "which does not exist" in refused(command("claims", "--id", "TW-LN", "--run", str(tmp_path / "nothing")))

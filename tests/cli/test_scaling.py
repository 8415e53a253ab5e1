"""`plan` and `merge` as a user types them."""

import json
import re

import pytest

from armillary.results import store

SHORT = ["--contexts", "12", "--length", "16", "--shard-tokens", "64"]


def test_parts_are_surveyed_and_merged(armillary, model, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("armillary.runs.merge.with_page", lambda run: run)
    folders = [str(tmp_path / name) for name in ("1", "2")]
    for part, folder in zip(("1/2", "2/2"), folders, strict=True):
        code, out, _ = armillary("survey", model, "--corpus", corpus, *SHORT, "--shard", part, "--out", folder)
        assert code == 0
        assert out == f"part {part}: {folder}  (armillary merge joins all parts)\n"
    code, out, _ = armillary("merge", *folders, "--out", tmp_path / "all")
    assert code == 0
    assert "12 windows of 16 tokens" in out
    assert store.open(tmp_path / "all").provenance["contexts"] == 12


def test_a_missing_part_is_one_line(armillary, refused, model, corpus, tmp_path):
    armillary("survey", model, "--corpus", corpus, *SHORT, "--shard", "1/2", "--out", tmp_path / "1", "--quiet")
    line = refused(armillary("merge", tmp_path / "1", "--out", tmp_path / "all"))
    assert "expected all 2 parts of the survey, got all but 2/2" in line
    line = refused(armillary("show", tmp_path / "1"))
    assert "expected the folder of a run" in line


def test_a_plan_is_printed_in_80_columns_and_as_json(armillary, model, corpus, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = armillary("plan", model, "--corpus", corpus, *SHORT, "--workers", "3", "--until-se", "0.01")
    assert code == 0
    assert out.startswith("12 windows of 16 tokens on 3 workers like this machine: ")
    for word in ("time", "memory", "disk", "network", "worker", "error", "wanted"):
        assert f"\n{word} " in out
    code, out, err = armillary("plan", model, "--corpus", corpus, *SHORT, "--json")
    assert (code, err) == (0, f"{model}: loading\n")
    assert json.loads(out)["contexts"] == 12
    assert json.loads(out)["network"] == 0


def test_wrong_parts_and_workers_are_refused(armillary, refused, model, corpus):
    given = ["survey", model, "--corpus", corpus, *SHORT]
    assert "expected shard as i/N with i from 1 to N, got '3/2'" in refused(armillary(*given, "--shard", "3/2"))
    assert "expected engine=ray with workers, got engine=local" in refused(armillary(*given, "--workers", "2"))
    assert "did you mean ray" in refused(armillary(*given, "--engine", "rya"))


def test_a_plan_gives_its_error_in_per_cent_and_quiet_is_silent(armillary, model, corpus):
    given = ["plan", model, "--corpus", corpus, *SHORT, "--quiet"]
    _, out, err = armillary(*given)
    percent = float(re.search(r"\nerror    about (\S+) %, the largest SE", out)[1])
    rows = json.loads(armillary(*given, "--json")[1])
    assert percent == pytest.approx(100 * rows["se"], rel=0.06)
    assert err == ""


def test_a_wanted_error_that_is_no_share_is_told_its_unit(armillary, refused, model, corpus):
    line = refused(armillary("plan", model, "--corpus", corpus, "--until-se", "5", "--quiet"))
    assert "expected until_se between 0 and 1, got 5: it is a share, 0.001 is 0.1 %" in line

"""`armillary survey` on a tiny saved model: tables, files, and errors of one line."""

import os
import re
import shutil
from pathlib import Path

import pytest
import transformers

import armillary as arm
from armillary.cli.surveying import default_folder

SHORT = ["--contexts", "12", "--length", "16"]


def test_the_help_of_survey_shows_every_flag_and_default(armillary):
    code, out, _ = armillary("survey", "--help")
    assert code == 0
    flags = ["--contexts", "--length", "--seed", "--out", "--first", "--outliers", "--resume", "--config", "--quiet"]
    assert all(flag in out for flag in flags)
    assert "runs/MODEL-CORPUS" in "".join(out.split())


@pytest.mark.parametrize(("value", "meant"), [("maybe", "choose drop, keep"), ("keeps", "did you mean keep?")])
def test_a_wrong_choice_is_refused_before_the_model_is_looked_for(armillary, refused, value, meant):
    line = refused(armillary("survey", "no such model", "--first", value))
    assert line == f"armillary: expected drop or keep for --first, got {value!r}: {meant}\n"


def test_too_short_a_window_is_refused_before_the_model_is_looked_for(armillary, refused):
    line = refused(armillary("survey", "no such model", "--length", "2"))
    assert line == "armillary: expected length of at least 3, got 2: choose a larger one\n"


def test_random_weights_are_those_of_the_seed(model, corpus, tmp_path, armillary):
    given = [*SHORT, "--random-weights", "--seed", "3", "--quiet", "--out", tmp_path / "run"]
    assert armillary("survey", model, "--corpus", corpus, *given) == (0, "", "")
    assert arm.open(tmp_path / "run").provenance["random_weights"] == "seed 3"


def test_a_run_is_measured_again(surveyed, tmp_path, armillary):
    shutil.copytree(surveyed[0], tmp_path / "run")
    assert armillary("measure", tmp_path / "run") == (0, f"measured again: {tmp_path / 'run'}\n", "")


def test_a_survey_prints_its_table_and_where_it_is(surveyed):
    out, stdout, stderr = surveyed
    assert "12 windows of 16 tokens" in stdout
    assert f"results: {out}  (armillary show {out}; in Python: armillary.open({str(out)!r}))" in stdout
    assert "12 windows of 16 tokens from" in stderr
    assert "GB of memory beyond the model" in stderr
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "states.nc"]


def test_the_run_holds_what_was_asked(surveyed, model, corpus):
    run = arm.open(surveyed[0])
    about = run.provenance
    assert (about["model"], about["contexts"], about["length"], about["seed"]) == (model, 12, 16, 0)
    assert about["corpus"] == corpus
    assert run.results["corpus"].tokens.shape == (12, 16)
    assert run.results["residual"].sizes["layer"] == 3


def test_quiet_prints_nothing(model, corpus, tmp_path, armillary):
    result = armillary("survey", model, "--corpus", corpus, *SHORT, "--quiet", "--out", tmp_path / "run")
    assert result == (0, "", "")
    assert (tmp_path / "run" / "states.nc").is_file()


def test_without_out_the_folder_is_named_after_model_and_corpus(model, corpus, tmp_path, monkeypatch, armillary):
    monkeypatch.chdir(tmp_path)
    os.symlink(model, "tiny")
    os.symlink(corpus, "texts")
    assert armillary("survey", "tiny", "--corpus", "texts", *SHORT, "--quiet")[0] == 0
    made = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("runs/*/*"))
    assert made == ["runs/tiny-texts/report.html", "runs/tiny-texts/states.nc"]


@pytest.mark.parametrize(
    ("model", "corpus", "twin", "folder"),
    [
        ("smollm2", "python-docs", False, "smollm2-python-docs"),
        ("smollm2", "python-docs", True, "smollm2-random-python-docs"),
        ("owner/name", "my texts/a.txt", False, "owner-name-my-texts-a.txt"),
        ("../../etc", "wheel:a==1/b", False, "etc-wheel-a--1-b"),
        ("C:\\models\\x", "é", False, "C--models-x-é"),
    ],
)
def test_the_default_folder_has_only_letters_of_file_names(model, corpus, twin, folder):
    assert default_folder(model, corpus, random_weights=twin) == Path("runs") / folder


def test_an_unknown_model_is_refused(armillary, refused):
    assert "did you mean smollm2?" in refused(armillary("survey", "smolm2", *SHORT))


def test_an_unknown_corpus_is_refused(model, tmp_path, armillary, refused):
    line = refused(armillary("survey", model, "--corpus", "python-dox", *SHORT, "--out", tmp_path / "run"))
    assert "did you mean python-docs" in line
    assert "got 'python-dox'" in line


def test_a_folder_that_holds_a_run_is_refused(surveyed, model, corpus, armillary, refused):
    before = (surveyed[0] / "states.nc").read_bytes()
    code, out, err = armillary("survey", model, "--corpus", corpus, *SHORT, "--seed", "1", "--out", surveyed[0])
    expected = (
        f"armillary: expected a folder without a run, got {surveyed[0]}, which already holds one: choose another "
        f"--out, or remove that folder\n"
    )
    assert (code, out, err) == (2, "", expected)
    assert (surveyed[0] / "states.nc").read_bytes() == before


@pytest.mark.parametrize("asked", [["survey"], ["weights", "--quiet"], ["stores", "--quiet"], ["travel", "a text"]])
def test_a_folder_that_holds_a_run_is_refused_before_a_model_is_loaded(surveyed, armillary, refused, asked):
    command, *text = asked
    line = refused(armillary(command, "no-such-model", *text, "--out", surveyed[0]))
    assert "which already holds one: choose another --out" in line


def test_too_many_contexts_are_refused_with_the_number_there_is(model, corpus, tmp_path, armillary, refused):
    given = ["--contexts", "500", "--length", "16"]
    line = refused(armillary("survey", model, "--corpus", corpus, *given, "--out", tmp_path / "run"))
    assert "expected 500 windows" in line
    there = int(re.search(r"has (\d+) windows of 16 tokens in 6 documents", line)[1])
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    drawn = arm.windows(arm.corpus(corpus), tokenizer, contexts=there, length=16)
    assert drawn.tokens.shape == (there, 16)
    with pytest.raises(arm.RequestError):
        arm.windows(arm.corpus(corpus), tokenizer, contexts=there + 1, length=16)
    assert not (tmp_path / "run").exists()


def test_windows_longer_than_the_model_takes_are_refused(model, corpus, tmp_path, armillary, refused):
    given = ["--contexts", "4", "--length", "41"]
    line = refused(armillary("survey", model, "--corpus", corpus, *given, "--out", tmp_path / "run"))
    assert "expected at most 40 tokens, the model's maximum, " in line
    assert "length=41" in line


def test_heads_are_named_in_the_survey_that_measures_them(model, corpus, tmp_path, armillary):
    code, out, _ = armillary("survey", model, "--corpus", corpus, *SHORT, "--heads", "--out", tmp_path / "run")
    assert code == 0
    assert "None of 8 heads has a kind; 8 are uniform" in out
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "heads.nc",
        "names.nc",
        "report.html",
        "states.nc",
    ]
    assert armillary("heads", tmp_path / "run")[2] == "", "nothing is read again"

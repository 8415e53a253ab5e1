"""The command line on a tiny saved model: tables, files, config, and errors of one line."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tokenizers
import torch
import transformers
from typer.testing import CliRunner

import armillary as arm
from armillary._version import __version__

WORDS = [f"word{i}" for i in range(60)]
SIZES = [100, 70, 45, 33, 90, 52]
SHORT = ["--contexts", "12", "--length", "16"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A saved folder with a tiny random model and a tokenizer of whole words."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("models") / "tiny"
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=48,
        max_position_embeddings=40,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.LlamaForCausalLM(config).save_pretrained(folder)
    vocabulary = {word: index for index, word in enumerate(["[UNK]", *WORDS])}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]").save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A folder of six documents of known lengths in words."""
    folder = tmp_path_factory.mktemp("texts")
    rng = np.random.default_rng(0)
    for number, size in enumerate(SIZES):
        (folder / f"{number}.txt").write_text(" ".join(rng.choice(WORDS, size)))
    return str(folder)


@pytest.fixture(scope="module")
def surveyed(cli, model, corpus, tmp_path_factory):
    """A finished run."""
    out = tmp_path_factory.mktemp("runs") / "first"
    done = CliRunner().invoke(cli.app, ["survey", model, "--corpus", corpus, *SHORT, "--out", str(out)])
    assert done.exit_code == 0, done.output
    return out, done.stdout, done.stderr


@pytest.fixture
def armillary(command):
    """The command as a user types it."""
    return command


def refused(result):
    """The one line of an error that a user can put right."""
    code, out, err = result
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("armillary: ")
    assert "Traceback" not in err
    return err


def in_a_process(*arguments, **options):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [str(Path(sys.executable).with_name("armillary")), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, **options)


def test_help_names_every_command(armillary):
    code, out, err = armillary("--help")
    assert (code, err) == (0, "")
    for command in ("survey", "show", "models", "corpora", "info"):
        assert command in out


def test_no_arguments_are_a_question_for_help(armillary):
    _, out, err = armillary()
    assert "Usage: armillary" in out + err


def test_the_help_of_survey_shows_every_flag_and_default(armillary):
    code, out, _ = armillary("survey", "--help")
    assert code == 0
    flags = ["--contexts", "--length", "--seed", "--out", "--first", "--outliers", "--resume", "--config", "--quiet"]
    assert all(flag in out for flag in flags)
    assert "runs/MODEL-CORPUS" in "".join(out.split())


def test_the_version_is_printed(armillary):
    assert armillary("--version") == (0, f"armillary {__version__}\n", "")


def test_an_unknown_command_is_refused(armillary):
    code, out, err = armillary("surwey")
    assert (code, out) == (2, "")
    assert "No such command 'surwey'" in err


def test_an_unknown_flag_is_refused(armillary):
    code, _, err = armillary("survey", "smollm2", "--contxts", "3")
    assert code == 2
    assert "No such option: --contxts" in err


def test_a_wrong_choice_names_the_choices(armillary):
    code, _, err = armillary("survey", "smollm2", "--first", "maybe")
    assert code == 2
    assert "'drop'" in err
    assert "'keep'" in err


def test_the_installed_command_answers():
    assert in_a_process("--version").stdout == f"armillary {__version__}\n"
    done = in_a_process("nonsense")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_the_installed_command_refuses_in_one_line_and_shows_the_traceback_on_request(tmp_path):
    plain, debug = in_a_process("show", tmp_path), in_a_process("show", tmp_path, "--debug")
    expected = f"{tmp_path} holds no results (expected states.nc): run a survey first"
    assert (plain.returncode, plain.stdout, plain.stderr) == (2, "", f"armillary: {expected}\n")
    assert debug.returncode != 0
    assert "Traceback (most recent call last)" in debug.stderr
    assert debug.stderr.rstrip().endswith(f"StoreError: {expected}")


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


def test_show_prints_the_same_table(surveyed, armillary):
    code, out, err = armillary("show", surveyed[0])
    assert (code, err) == (0, "")
    assert out.strip() == surveyed[1].split("results:")[0].strip()


def test_show_as_json_is_the_table_with_null_for_nan(surveyed, armillary):
    code, out, _ = armillary("show", surveyed[0], "--json")
    rows = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    expected = arm.table(arm.open(surveyed[0]))
    assert code == 0
    assert [row["layer"] for row in rows] == [0, 1, 2]
    nulls = 0
    for row, (_, values) in zip(rows, expected.iterrows(), strict=True):
        assert set(row) == {"layer", *expected.columns}
        for name, value in values.items():
            nulls += row[name] is None
            assert (row[name] is None) if np.isnan(value) else row[name] == pytest.approx(value, abs=1e-9)
    assert nulls, "this run has a value that is not determined"


def test_show_as_csv_is_the_table(surveyed, armillary):
    code, out, _ = armillary("show", surveyed[0], "--csv")
    rows = list(csv.DictReader(out.splitlines()))
    expected = arm.table(arm.open(surveyed[0]))
    assert code == 0
    assert list(rows[0]) == ["layer", *expected.columns]
    for row, (_, values) in zip(rows, expected.iterrows(), strict=True):
        for name, value in values.items():
            assert (row[name] == "") if np.isnan(value) else float(row[name]) == value


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
def test_the_default_folder_has_only_letters_of_file_names(cli, model, corpus, twin, folder):
    assert cli.default_folder(model, corpus, twin) == Path("runs") / folder


@pytest.fixture
def config(tmp_path):
    def write(text):
        path = tmp_path / "survey.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_values_of_the_config_file_are_used(model, corpus, tmp_path, config, armillary):
    path = config(
        f"corpus = {json.dumps(corpus)}\ncontexts = 10\nlength = 12\nseed = 5\nfirst = 'keep'\n"
        f"out = {json.dumps(str(tmp_path / 'run'))}\nsites = 'residual'\nquiet = true\n"
    )
    assert armillary("survey", model, "--config", path) == (0, "", "")
    about = arm.open(tmp_path / "run").provenance
    assert {key: about[key] for key in ("contexts", "length", "seed", "first", "sites")} == {
        "contexts": 10,
        "length": 12,
        "seed": 5,
        "first": "keep",
        "sites": "residual",
    }


@pytest.mark.parametrize("before", [True, False], ids=["flag first", "file first"])
def test_flags_override_the_config_file(model, corpus, tmp_path, config, armillary, before):
    path = config("contexts = 10\nlength = 12\nper-document = 3\ndocuments = 4\n")
    flags = ["--contexts", "12", "--seed", "7"]
    given = [*flags, "--config", path] if before else ["--config", path, *flags]
    assert armillary("survey", model, "--corpus", corpus, *given, "--quiet", "--out", tmp_path / "run") == (0, "", "")
    about = arm.open(tmp_path / "run").provenance
    assert (about["contexts"], about["length"], about["seed"], about["per_document"]) == (12, 12, 7, 3)


def test_an_unknown_key_of_the_config_file_is_named(config, armillary):
    path = config("contxts = 10\n")
    line = refused(armillary("survey", "smollm2", "--config", path))
    assert line == f"armillary: {path}: unknown key 'contxts', did you mean 'contexts'?\n"
    path = config("xyzzy = 10\n")
    assert refused(armillary("survey", "smollm2", "--config", path)) == f"armillary: {path}: unknown key 'xyzzy'\n"
    path = config("config = 'other.toml'\n")
    assert "unknown key 'config'" in refused(armillary("survey", "smollm2", "--config", path))


@pytest.mark.parametrize("text", [b"contexts: 10\n", b"contexts = \n", b"\xff\xfe\x00"])
def test_a_config_file_that_is_not_toml_is_refused(config, armillary, text):
    path = config(text)
    line = refused(armillary("survey", "smollm2", "--config", path))
    assert line.startswith(f"armillary: {path} is not TOML (")
    assert line.endswith("): write keys as in contexts = 64\n")


def test_a_missing_config_file_is_named(tmp_path, armillary):
    path = tmp_path / "none.toml"
    expected = f"armillary: cannot read the config file {path} (No such file or directory)\n"
    assert refused(armillary("survey", "smollm2", "--config", path)) == expected


def test_a_config_value_of_the_wrong_kind_is_refused(config, armillary):
    code, _, err = armillary("survey", "smollm2", "--config", config("contexts = 'many'\n"))
    assert code == 2
    assert "Invalid value for '--contexts'" in err
    assert "Traceback" not in err


def test_the_config_file_is_read_as_utf8_wherever_it_is_read(model, config, armillary, monkeypatch):
    real = Path.read_text

    def elsewhere(self, encoding=None, errors=None):
        return real(self, encoding or "cp1252", errors)

    path = config("corpus = 'Übung'\n")
    monkeypatch.setattr(Path, "read_text", elsewhere)
    assert "'Übung'" in refused(armillary("survey", model, "--config", path))


def test_an_unknown_model_is_refused(armillary):
    assert "did you mean smollm2?" in refused(armillary("survey", "smolm2", *SHORT))


def test_an_unknown_corpus_is_refused(model, tmp_path, armillary):
    line = refused(armillary("survey", model, "--corpus", "python-dox", *SHORT, "--out", tmp_path / "run"))
    assert "did you mean python-docs" in line
    assert "unknown name 'python-dox'" in line


def test_a_folder_that_holds_a_run_is_refused(surveyed, model, corpus, armillary):
    before = (surveyed[0] / "states.nc").read_bytes()
    code, out, err = armillary("survey", model, "--corpus", corpus, *SHORT, "--seed", "1", "--out", surveyed[0])
    expected = (
        f"armillary: expected a folder without a run, got {surveyed[0]}, which already holds one: choose another --out, "
        f"or remove that folder\n"
    )
    assert (code, out, err) == (2, "", expected)
    assert (surveyed[0] / "states.nc").read_bytes() == before


def test_too_many_contexts_are_refused_with_the_number_there_is(model, corpus, tmp_path, armillary):
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


def test_windows_longer_than_the_model_takes_are_refused(model, corpus, tmp_path, armillary):
    given = ["--contexts", "4", "--length", "41"]
    line = refused(armillary("survey", model, "--corpus", corpus, *given, "--out", tmp_path / "run"))
    assert "expected at most 40 tokens, the model's maximum, came length=41" in line


def test_debug_shows_the_traceback(cli, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["armillary", "show", str(tmp_path), "--debug"])
    with pytest.raises(arm.StoreError, match="holds no results"):
        cli.main()


def test_an_interrupt_says_how_to_go_on(cli, monkeypatch, capsys, tmp_path):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("armillary.results.store.open", stop)
    monkeypatch.setattr(sys, "argv", ["armillary", "show", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert "--resume" in capsys.readouterr().err


def test_models_and_corpora_are_listed(armillary):
    assert "smollm2" in armillary("models")[1]
    assert "wikitext2" in armillary("corpora")[1]


def test_info_names_versions_and_devices(armillary, monkeypatch, tmp_path):
    monkeypatch.setenv("ARMILLARY_CACHE", str(tmp_path / "cache"))
    code, out, _ = armillary("info")
    facts = {line.split(maxsplit=1)[0]: line.split(maxsplit=1)[1] for line in out.splitlines()}
    assert code == 0
    assert facts["torch"] == torch.__version__
    assert facts["armillary"] == __version__
    assert facts["devices"].startswith("cpu")
    assert facts["cache"] == f"{tmp_path / 'cache'} (0 MB)"

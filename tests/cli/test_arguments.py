"""The config file and the flags that commands share: flags win, and what is wrong is one line."""

import inspect
import json
from dataclasses import fields
from pathlib import Path

import pytest
import typer

import armillary as arm
from armillary.cli import app
from armillary.cli.arguments import Loading, Trust


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


def test_an_unknown_key_of_the_config_file_is_named(config, armillary, refused):
    path = config("contxts = 10\n")
    line = refused(armillary("survey", "smollm2", "--config", path))
    expected = f"armillary: {path}: expected the name of a flag, got 'contxts': did you mean contexts"
    assert line.startswith(expected)
    path = config("xyzzy = 10\n")
    line = refused(armillary("survey", "smollm2", "--config", path))
    assert line.startswith(f"armillary: {path}: expected the name of a flag, got 'xyzzy': choose model, corpus, out, ")
    path = config("config = 'other.toml'\n")
    assert "expected the name of a flag, got 'config'" in refused(armillary("survey", "smollm2", "--config", path))


@pytest.mark.parametrize("text", [b"contexts: 10\n", b"contexts = \n", b"\xff\xfe\x00"])
def test_a_config_file_that_is_not_toml_is_refused(config, armillary, text, refused):
    path = config(text)
    line = refused(armillary("survey", "smollm2", "--config", path))
    assert line.startswith(f"armillary: {path} is not TOML (")
    assert line.endswith("): write keys as in contexts = 64\n")


def test_a_missing_config_file_is_named(tmp_path, armillary, refused):
    path = tmp_path / "none.toml"
    expected = f"armillary: cannot read the config file {path} (No such file or directory): check its path\n"
    assert refused(armillary("survey", "smollm2", "--config", path)) == expected


def test_a_config_value_of_the_wrong_kind_is_refused(config, armillary, refused):
    code, _, err = armillary("survey", "smollm2", "--config", config("contexts = 'many'\n"))
    assert code == 2
    assert err.startswith("armillary: expected a valid integer for --contexts, got 'many'")
    assert "Traceback" not in err


def test_the_config_file_is_read_as_utf8_wherever_it_is_read(model, config, armillary, monkeypatch, refused):
    real = Path.read_text

    def elsewhere(self, encoding=None, errors=None):
        return real(self, encoding or "cp1252", errors)

    path = config("corpus = 'Übung'\n")
    monkeypatch.setattr(Path, "read_text", elsewhere)
    assert "'Übung'" in refused(armillary("survey", model, "--config", path))


def test_how_a_model_is_loaded_is_written_as_load_takes_it():
    from armillary.models import load

    taken = inspect.signature(load).parameters
    for each in fields(Loading):
        assert each.metadata["help"]
        assert (taken[each.name].default or False) == (each.default or False), each.name


@pytest.mark.parametrize("command", ["survey", "prompt"])
def test_commands_that_load_a_model_take_the_same_flags(command):
    flags = {flag.name: flag for flag in typer.main.get_command(app).commands[command].params}
    for each in fields(Loading):
        assert flags[each.name].help == each.metadata["help"]
        assert flags[each.name].default == each.default


def test_heads_take_what_their_model_may_do_and_the_rest_from_the_run():
    flags = {flag.name for flag in typer.main.get_command(app).commands["heads"].params}
    assert flags & {each.name for each in fields(Loading)} == {each.name for each in fields(Trust)}


def test_the_view_has_random_weights_of_the_seed_where_these_are_asked_for(model):
    weights = [Loading(random_weights=random).view(model, 7).provenance["random_weights"] for random in (True, False)]
    assert weights == ["seed 7", ""]

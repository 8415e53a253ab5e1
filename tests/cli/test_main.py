"""The command as a whole: help, version, `python -m armillary`, and errors of one line with exit code 2."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import armillary as arm
from armillary._version import __version__
from armillary.cli import app

COMMANDS = ("survey", "show", "measure", "compare", "report", "explore", "figure", "heads", "weights", "stores",
            "travel", "prompt", "plan", "merge", "models", "corpora", "info", "simulate", "claims", "gaussian",
            "train")  # fmt: skip


def in_a_process(*arguments, module=False, **options):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    start = [sys.executable, "-m", "armillary"] if module else [str(Path(sys.executable).with_name("armillary"))]
    command = [*start, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, **options)


def test_help_names_every_command(armillary):
    code, out, err = armillary("--help")
    assert (code, err) == (0, "")
    for command in COMMANDS:
        assert command in out


@pytest.mark.parametrize("group", [[], ["train"]])
def test_no_line_of_the_list_of_commands_is_cut(armillary, monkeypatch, group):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = armillary(*group, "--help")
    listed = out.split("Commands:")[1].splitlines()
    assert (code, len(listed) > 5) == (0, True)
    assert not [line for line in listed if line.endswith("...")]


def test_no_arguments_are_a_question_for_help(armillary):
    _, out, err = armillary()
    assert "Usage: armillary" in out + err


def test_the_version_is_printed(armillary):
    assert armillary("--version") == (0, f"armillary {__version__}\n", "")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("surwey", "expected a command, got 'surwey': did you mean survey or measure?"),
        ("--frob", "expected an option of `armillary`, got --frob: see `armillary --help`"),
        ("survey", "expected the argument `model`, got none: see `armillary survey --help`"),
        (
            "survey minilm --contxts 3",
            "expected an option of `armillary survey`, got --contxts: did you mean --contexts or --documents?",
        ),
        (
            "survey minilm --contexts x",
            "expected a valid integer for --contexts, got 'x': see `armillary survey --help`",
        ),
        ("survey minilm --contexts", "expected a value after --contexts, got none: see `armillary survey --help`"),
        ("heads a b c", "expected no more words, got b c: see `armillary heads --help`"),
        ("explore a --port x", "expected a valid integer for --port, got 'x': see `armillary explore --help`"),
        ("train adition", "expected something to train, got 'adition': did you mean addition or addition-rotary?"),
    ],
)
def test_words_that_make_no_command_are_refused_in_one_line_that_says_what_to_do(command, refused, typed, message):
    assert refused(command(*typed.split())) == f"armillary: {message}\n"


def test_the_installed_command_answers():
    assert in_a_process("--version").stdout == f"armillary {__version__}\n"
    done = in_a_process("nonsense")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_the_installed_command_refuses_in_one_line_and_shows_the_traceback_on_request(tmp_path):
    plain, debug = in_a_process("show", tmp_path), in_a_process("show", tmp_path, "--debug")
    expected = (
        f"expected the folder of a run, got {tmp_path}, which holds no results: make a run with "
        "`armillary survey MODEL --out`"
    )
    assert (plain.returncode, plain.stdout, plain.stderr) == (2, "", f"armillary: {expected}\n")
    assert debug.returncode != 0
    assert "Traceback (most recent call last)" in debug.stderr
    assert debug.stderr.rstrip().endswith(f"StoreError: {expected}")


def test_debug_shows_the_traceback(cli, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["armillary", "show", str(tmp_path), "--debug"])
    with pytest.raises(arm.StoreError, match="expected the folder of a run, got "):
        cli.main()


def test_an_interrupt_says_how_to_go_on(cli, monkeypatch, capsys, tmp_path):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("armillary.results.store.open", stop)
    monkeypatch.setattr(sys, "argv", ["armillary", "show", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert (
        capsys.readouterr().err
        == "armillary: interrupted: a survey or a training resumes from its last checkpoint with --resume\n"
    )


def test_the_package_runs_as_a_module(tmp_path):
    assert in_a_process("--version", module=True).stdout == f"armillary {__version__}\n"
    done = in_a_process("show", tmp_path, module=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert in_a_process("--help", module=True).stdout.startswith("Usage: armillary [OPTIONS] COMMAND")


def test_the_commands_are_these_and_each_has_help_for_all_it_takes():
    commands = typer.main.get_command(app).commands
    assert tuple(commands) == COMMANDS
    for name, command in commands.items():
        assert command.help, name
        assert all(parameter.help for parameter in command.params if parameter.name != "help"), name


LONG = "x" * 300


@pytest.mark.parametrize(
    "arguments",
    [("show", LONG), ("survey", LONG), ("survey", "minilm", "--config", LONG), ("report", LONG), ("measure", LONG),
     ("heads", LONG), ("survey", "minilm", "--corpus", LONG), ("compare", LONG, LONG), ("explore", LONG)],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_a_name_that_no_file_can_have_is_an_error_of_one_line(armillary, arguments):
    code, _, err = armillary(*arguments)
    assert code == 2
    assert err.count("\n") == 1
    assert err.startswith("armillary: ")
    assert "Traceback" not in err

"""What the documentation site makes of docstrings, claims and commands; `make docs` builds it whole."""

import re
import shlex
import sys
from pathlib import Path

import pytest
import typer

from armillary.cli import app

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))

from making import commands, corrections, docstrings, runs  # noqa: E402

CLAIMS = (DOCS / "claims.md").read_text(encoding="utf-8")


def summary():
    """Claims and false ones of each document, as the summary of the page counts them."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in CLAIMS.splitlines() if line[:1] == "|"]
    head = next(row for row in rows if "false as published" in row and "claims" in row)
    counted = [dict(zip(head, row, strict=True)) for row in rows if row[0] in ("BAO", "SZ", "TW", "WE")]
    return [(row["document"], int(row["claims"]), int(row["false as published"])) for row in counted]


@pytest.mark.parametrize(("document", "claims", "false"), summary())
def test_the_page_of_a_document_lists_every_claim_that_is_false_as_published(document, claims, false):
    lines = corrections.described(CLAIMS, document)
    assert lines[0].startswith(f"Of {claims} quantitative statements ")
    rows = [line for line in lines if line.startswith("| [")]
    assert len(rows) == false
    assert all(len(re.split(r"(?<!\\)\|", row)) == 5 for row in rows)


def test_a_document_without_claims_is_refused():
    with pytest.raises(ValueError, match=r"expected claims of XX in claims\.md, got none"):
        corrections.described(CLAIMS, "XX")


def test_a_docstring_keeps_its_code_and_escapes_what_the_parser_would_read():
    assert docstrings.marked("`out` ends in X_ or *args") == r"``out`` ends in X\_ or \*args"
    assert docstrings.marked("a_name stays") == "a_name stays"


def test_settings_of_a_docstring_are_fields_and_indented_lines_a_block():
    lines = ["One.", "", "    run()", "", "Settings:", "    seed: Random `seed`. [default: 0]"]
    given = docstrings.rewritten(lines)
    assert given[2:7] == ["", "::", "", "    run()", ""]
    assert given[-1] == ":seed: Random ``seed``. [default: 0]"


@pytest.mark.parametrize("line", runs.COMMANDS)
def test_every_command_of_the_sites_runs_has_options_that_exist(line):
    command = typer.main.get_command(app)
    words = shlex.split(line)[1:]
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_the_page_of_commands_has_every_command_and_every_default():
    root = typer.main.get_command(app)
    lines = [line for name, command in root.commands.items() for line in commands.described(name, command)]
    assert {f"## `armillary {name}`" for name in root.commands} <= set(lines)
    survey = "\n".join(commands.described("survey", root.commands["survey"]))
    assert "| `--seed` | Random seed. Default: `0`. |" in survey
    assert "| `--contexts` | Number of windows to read. Default: `64`. |" in survey

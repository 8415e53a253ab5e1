"""What the documents show is true: blocks run, commands exist, links lead somewhere, the schema is the code's."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer
import yaml

import armillary
from armillary.cli import app
from armillary.results.labels import AXES
from armillary.results.schema import GROUPS
from armillary.results.schema_page import markdown

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
DOCUMENTS = [*PAGES, ROOT / "CITATION.cff", *sorted((ROOT / "examples").glob("*.py"))]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[str]:
    """Every `armillary ...` line of a shell block or after a prompt, and every one in a sentence."""
    shown = "\n".join(blocks(text, "sh"))
    lines = re.findall(r"^armillary .*", shown, flags=re.MULTILINE) + re.findall(r"(?<=^\$ )armillary .*", text, re.M)
    return lines + re.findall(r"`(armillary [^`]+)`", text)


SHOWN = sorted({(page.name, line) for page in PAGES for line in commands(page.read_text(encoding="utf-8"))})


@pytest.mark.real
@pytest.mark.parametrize("block", blocks(README, "python"))
def test_every_python_block_of_the_readme_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    assert (tmp_path / "runs/first/states.nc").is_file()


def test_the_readme_shows_commands_and_a_block_of_python():
    assert len(commands(README)) > 10
    assert len(blocks(README, "python")) == 1


@pytest.mark.parametrize(("page", "line"), SHOWN)
def test_every_command_that_is_shown_exists_with_its_options(page, line):
    root = typer.main.get_command(app)
    words = [word for word in shlex.split(line, comments=True)[1:] if word != "..."]
    options = {"--help"} | {name for parameter in root.params for name in parameter.opts}
    while words and words[0].startswith("-"):
        assert words.pop(0) in options
    if not words:
        return
    name = words.pop(0)
    assert name in root.commands, f"{page} shows the unknown command {name}"
    command = root.commands[name]
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    known = {"--help"} | {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


def test_the_config_file_of_the_readme_has_keys_that_are_flags():
    known = {parameter.name for parameter in typer.main.get_command(app).commands["survey"].params}
    for block in blocks(README, "toml"):
        assert {key.replace("-", "_") for key in tomllib.loads(block)} <= known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_to_a_file(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not re.match(r"https?:|#", target):
            assert (page.parent / target.split("#")[0]).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_of_the_source_that_is_named_exists(page):
    named = set(re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w./-]+)`", page.read_text(encoding="utf-8")))
    assert not [path for path in named if not (ROOT / path).exists()]


def test_the_page_of_the_schema_is_the_schema():
    page = (ROOT / "docs/schema.md").read_text(encoding="utf-8")
    assert page == markdown(), "run: python -m armillary.schema_doc > docs/schema.md"


def test_the_page_of_the_schema_is_what_its_module_prints():
    utf8 = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "armillary.results.schema_page"]
    printed = subprocess.run(command, capture_output=True, check=True, env=utf8)
    assert printed.stdout.decode() == markdown()


def test_every_axis_of_the_schema_is_in_the_vocabulary():
    used = {axis for group in GROUPS.values() for row in group.variables.values() for axis in row.axes}
    assert {axis.rstrip("_") for axis in used} <= set(AXES)


def test_every_measure_of_a_survey_is_described():
    page = (ROOT / "docs/measures.md").read_text(encoding="utf-8")
    for measure in {measure for group in GROUPS.values() for measure in group.measures}:
        assert f"`{measure.__name__}`" in page


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_document_names_a_folder_outside_the_project_or_leaves_work_for_later(path):
    text = path.read_text(encoding="utf-8")
    assert str(ROOT.parent) not in text
    assert "../" not in re.sub(r"\]\(\.\./", "](", text)
    assert "TODO" not in text


def test_the_citation_names_this_version_and_the_four_sources():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert str(cited["version"]) == armillary.__version__
    titles = [reference["title"] for reference in cited["references"]]
    assert len(titles) == 4
    shown = " ".join(README.split())
    assert all(title in shown for title in titles)


def test_the_changelog_has_this_version():
    assert f"## [{armillary.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

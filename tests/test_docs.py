"""What the documents show is true: blocks run, commands exist, links lead somewhere, the schema is the code's."""

import inspect
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
from armillary.figures import FIGURES
from armillary.results.labels import AXES
from armillary.results.schema import GROUPS
from armillary.results.schema_page import markdown

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
DOCUMENTS = [*PAGES, ROOT / "CITATION.cff", *sorted((ROOT / "examples").glob("*.py"))]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def shown_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def commands(text: str) -> list[str]:
    """Every `armillary ...` line of a shell block or after a prompt, and every one in a sentence."""
    shown = "\n".join([*blocks(text, "sh"), *blocks(text, "{terminal}")])
    lines = re.findall(r"^armillary .*", shown, flags=re.MULTILINE) + re.findall(r"(?<=^\$ )armillary .*", text, re.M)
    return lines + re.findall(r"`(armillary [^`]+)`", text)


SHOWN = sorted({(shown_name(page), line) for page in PAGES for line in commands(page.read_text(encoding="utf-8"))})


@pytest.mark.real
@pytest.mark.parametrize("block", blocks(README, "python"))
def test_every_python_block_of_the_readme_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    assert (tmp_path / "runs/first/states.nc").is_file()


def test_the_readme_shows_commands_and_a_block_of_python():
    assert len(commands(README)) > 10
    assert len(blocks(README, "python")) == 1
    assert len(README.split()) < 1100, "details belong to the pages of docs"


QUESTIONS = (
    "Does my model use position?",
    "Which heads are induction heads?",
    "What is different after fine-tuning?",
    "Is this number more than chance?",
    "Where do I get this figure for my paper?",
)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_newcomers_question_is_answered_by_one_command_or_one_link(page, question):
    row = re.search(rf"^\| {re.escape(question)} \| (.+) \|$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(re.findall(r"`armillary [^`]+`", row[1])) <= 1
    assert re.search(r"`armillary [^`]+`|\]\([^)]+\)", row[1])


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


def test_every_config_file_that_is_shown_has_keys_that_are_flags():
    known = {parameter.name for parameter in typer.main.get_command(app).commands["survey"].params}
    shown = [block for page in PAGES for block in blocks(page.read_text(encoding="utf-8"), "toml")]
    assert shown
    for block in shown:
        assert {key.replace("-", "_") for key in tomllib.loads(block)} <= known


@pytest.mark.parametrize("page", PAGES, ids=shown_name)
def test_every_relative_link_leads_to_a_file(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not re.match(r"https?:|#", target):
            assert (page.parent / target.split("#")[0]).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=shown_name)
def test_every_path_of_the_source_that_is_named_exists(page):
    named = set(re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w./-]+)`", page.read_text(encoding="utf-8")))
    assert not [path for path in named if not (ROOT / path).exists()]


def public():
    names = [name for name in armillary.__all__ if not name.startswith("_")]
    return {name: getattr(armillary, name) for name in names}


def test_every_public_name_is_on_the_page_of_python():
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\.\. auto\w+:: armillary\.(\w+)$", page, re.MULTILINE)) == set(public())


@pytest.mark.parametrize("name", [name for name, thing in public().items() if not isinstance(thing, type)])
def test_help_of_a_public_function_explains_every_keyword(name):
    thing = public()[name]
    text = inspect.getdoc(thing)
    words = set(re.findall(r"\w+", text))
    given = inspect.signature(thing).parameters.values()
    optional = [each.name for each in given if each.kind is each.KEYWORD_ONLY or each.default is not each.empty]
    assert [each for each in optional if each not in words] == []


def test_every_figure_that_a_page_draws_exists():
    drawn = {name for page in PAGES for name in re.findall(r"^```\{drawn\} (\S+)$", page.read_text(), re.MULTILINE)}
    assert len(drawn) > 10
    assert drawn <= set(FIGURES)


def test_the_page_of_the_schema_is_the_schema():
    page = (ROOT / "docs/schema.md").read_text(encoding="utf-8")
    assert page == markdown(), "run: python -m armillary.results.schema_page > docs/schema.md"


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
    assert "../" not in re.sub(r"(\]\(|\{\w+\} |href=\"|\n)(\.\./)+", r"\1", text)
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

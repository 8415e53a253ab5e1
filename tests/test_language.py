"""What a user can read follows the glossary: a walk over every text of the sources and documents."""

import ast
import re
from pathlib import Path

import pytest

import armillary

SRC = Path(armillary.__file__).parent
ROOT = SRC.parents[1]
SOURCES = sorted(SRC.rglob("*.py"))
PAGES = sorted([*SRC.rglob("*.js"), *SRC.rglob("*.html")])
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

UNSAID = {
    r"\bcame\b": "got",
    r"\bturned (windows|at random|by (a|its own) random)|windows turned|windows are turned": "circularly shifted",
    r"\btold (from|apart)\b": "significant",
    r"\bso many\b": "a number",
    r"\bdealt out anew\b": "permutation null",
    r"\bproved anew\b": "corrected",
    r"\bplain formulas?\b": "plug-in estimate",
    r"\bwithout small-sample bias\b": "bias-corrected",
    r"\blikeness\b": "similarity",
    r"\bmean taken off\b": "mean-centred",
    r"\bdriven by\b": "dominant QK term",
    r"\bposition part\b": "positional basis",
    r"\bas documents are left out\b": "leave-one-group-out range",
    r"\bhave a name here\b": "built-in",
    r"\bfixes every draw\b": "random seed",
    r"\blooks? at what followed\b": "induction head",
    r"\bbeing one vector\b": "rank collapse",
}
"""Words that the glossary replaces, and by what."""


def shown(path):
    return str(path.relative_to(ROOT))


def texts(path):
    """Every string of a source file, docstrings counted, with its line; parts of an f-string are joined."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.lineno, node.value


def replaced(text):
    """The words of a text that the glossary replaces."""
    flat = " ".join(text.split())
    return {match[0]: word for pattern, word in UNSAID.items() for match in re.finditer(pattern, flat, re.IGNORECASE)}


def test_the_walk_finds_what_it_looks_for():
    assert replaced("expected 3, came 4") == {"came": "got"}
    assert replaced("a null of turned\n windows, told from 0") == {
        "turned windows": "circularly shifted",
        "told from": "significant",
    }
    assert not replaced("expected a text, got none: the game became clear")
    assert sum(len(list(texts(path))) for path in SOURCES) > 3000


@pytest.mark.parametrize("path", SOURCES, ids=shown)
def test_every_text_of_the_sources_follows_the_glossary(path):
    found = {f"{shown(path)}:{line}": replaced(text) for line, text in texts(path) if replaced(text)}
    assert not found


@pytest.mark.parametrize("path", sorted((ROOT / "src/armillary/printing").glob("*.py")), ids=shown)
def test_no_table_writes_a_standard_error_behind_the_sign_of_an_interval(path):
    assert not [line for line, text in texts(path) if "±" in text and not text.startswith("What a column")]


@pytest.mark.parametrize("path", [*PAGES, *DOCUMENTS], ids=shown)
def test_every_page_and_document_follows_the_glossary(path):
    found = {number: replaced(line) for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)}
    assert not {number: words for number, words in found.items() if words}


MESSAGE = re.compile(r"^expected .+, got ")


@pytest.mark.parametrize("path", SOURCES, ids=shown)
def test_an_error_that_says_what_it_expected_says_what_it_got(path):
    for line, text in texts(path):
        if text.startswith("expected "):
            assert MESSAGE.match(text) or not text.rstrip().endswith(("}", ".")) or "got" in text, f"{line}: {text}"

"""`{corrections}`: what a document says that does not hold, and what holds instead, from the page of the claims."""

import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

CLAIMS = Path(__file__).parents[1] / "claims.md"
FALSE = "False as published"


class Corrections(SphinxDirective):
    """Of the document whose key is the argument: how its claims fare, and every one that is false as published."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A sentence of counts and a table."""
        self.env.note_dependency(str(CLAIMS))
        holder = nodes.container()
        lines = described(CLAIMS.read_text(encoding="utf-8"), self.arguments[0])
        self.state.nested_parse(StringList(lines), self.content_offset, holder)
        return holder.children


def described(page: str, document: str) -> list[str]:
    """Lines of markdown."""
    entries = re.findall(rf"^### ({document}-\S+)\n\n(.*?)\n- Why", page, flags=re.MULTILINE | re.DOTALL)
    if not entries:
        raise ValueError(f"expected claims of {document} in {CLAIMS.name}, got none: has its layout changed?")
    verdicts = [re.search(r"\*\*(.+?)\.\*\*", text) for _, text in entries]
    false = [entry for entry, verdict in zip(entries, verdicts, strict=True) if verdict and verdict[1] == FALSE]
    holding = sum(bool(verdict and verdict[1].startswith("Holds")) for verdict in verdicts)
    rows = [
        f"| [{name}](/claims.md#{anchor(name)}) | {said(text, 'Published')} | {said(text, 'Correct')} |"
        for name, text in false
    ]
    count = f"Of {len(entries)} quantitative statements {holding} hold, {len(false)} are false as published:"
    return [count, "", "| claim | published | correct |", "|---|---|---|", *rows, ""]


def said(text: str, word: str) -> str:
    """What follows a word in the list of a claim, as one cell of a table."""
    found = re.search(rf"^- {word}: (.*?)(?=\n- |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()).replace("|", "\\|") if found else ""


def anchor(name: str) -> str:
    """The anchor of a claim's heading."""
    return re.sub(r"[^\w-]", "", name.lower())

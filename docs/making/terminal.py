"""`{terminal}`: commands and what they print, run when the page is built."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from making.runs import run


class Terminal(SphinxDirective):
    """One command per line; with :lines: N the output is cut after that many."""

    has_content = True
    option_spec = {"lines": int}  # noqa: RUF012  (docutils reads it from the class)

    def run(self) -> list[nodes.Node]:
        """Each command after a prompt, and below it what it printed."""
        shown = []
        for command in self.content:
            printed = [line.rstrip() for line in run(command).strip("\n").splitlines()]
            most = self.options.get("lines", len(printed))
            shown += [f"$ {command}", *printed[:most], *(["…"] if len(printed) > most else [])]
        block = nodes.literal_block(text="\n".join(shown), classes=["terminal"])
        block["language"] = "text"
        return [block]

"""`{commands}`: every command with its arguments and options, read from the command line itself."""

from typing import Any

import typer
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from armillary.cli import app


class Commands(SphinxDirective):
    """A section per command, in the order of `armillary --help`."""

    def run(self) -> list[nodes.Node]:
        """The sections, parsed as the page around them is."""
        root = typer.main.get_command(app)
        lines = [line for name, command in root.commands.items() for line in described(name, command)]
        holder = nodes.section(document=self.state.document)
        self.state.nested_parse(StringList(lines), self.content_offset, holder, match_titles=True)
        return holder.children


def described(name: str, command: Any) -> list[str]:
    """Heading, help and table of one command, and those of the commands below it."""
    rows = [row(parameter) for parameter in command.params if parameter.name != "help"]
    table = ["", "| argument or option | what it is for |", "|---|---|", *rows, ""] if rows else [""]
    below = [
        line for child, part in getattr(command, "commands", {}).items() for line in described(f"{name} {child}", part)
    ]
    return [f"## `armillary {name}`", "", *(command.help or "").replace("\b", "").splitlines(), *table, *below]


def row(parameter: Any) -> str:
    """One argument or option: its names, what it is for, its default."""
    names = ", ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts))
    default = parameter.default
    said = isinstance(default, str | int | float) and not isinstance(default, bool) and default != ""
    more = f" Default: `{default}`." if said else ""
    return f"| {names} | {(parameter.help or '').replace('|', '&#124;')}{more} |"

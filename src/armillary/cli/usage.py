"""Usage errors in one line: what was expected, what was got, and what to do, in the place of typer's page of usage."""

import re
from typing import Any

import typer
from typer.core import TyperGroup

from armillary.errors import RequestError, did_you_mean

UsageError: Any = typer.BadParameter.__base__
"""What typer raises for words that it cannot read; it has no public name."""

WORDS = (
    (r"Missing (argument|option) '(.+?)'\..*", "expected the {0} `{1}`, got none"),
    (r"No such option: (\S+).*", "expected an option of `{command}`, got {0}"),
    (r"Option '(.+)' requires an argument\.", "expected a value after {0}, got none"),
    (r"Invalid value for '(.+?)': Input should be (.+?)(?:, .*)?", "expected {1} for {0}, got {value}"),
    (r"Got unexpected extra arguments?(?:\(s\))? \((.+)\)", "expected no more words, got {0}"),
)
"""Typer's sentences, and ours."""


class Commands(TyperGroup):
    """A group of commands that answers an unknown name as every other error is answered."""

    what = "a command"

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of a name; refused in one line."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            raise RequestError(f"expected {self.what}, got {args[0]!r}: {did_you_mean(args[0], self.commands)}")
        return super().resolve_command(ctx, args)


def in_one_line(error: Any, arguments: list[str]) -> str:
    """A usage error in our words, with the nearest option or the place of help."""
    message = error.format_message()
    command = error.ctx.command_path if error.ctx else " ".join(["armillary", *arguments[:1]])
    help_page = f"see `{command} --help`"
    for pattern, words in WORDS:
        if found := re.fullmatch(pattern, message, flags=re.DOTALL):
            names = getattr(error, "possibilities", None)
            todo = f"did you mean {' or '.join(names)}?" if names else help_page
            return f"{words.format(*found.groups(), command=command, value=refused_value(error))}: {todo}"
    return f"{message.rstrip('.')}: {help_page}"


def refused_value(error: Any) -> str:
    """What was written where something else is expected, as far as typer's check of values says."""
    checked: list[Any] = getattr(error.__cause__, "errors", list)()
    return repr(checked[0]["input"])[:80] if checked else "another value"


def is_help(error: Any) -> bool:
    """Whether typer raised the page of help itself, as for a command without a word after it."""
    return "\n" in error.format_message()

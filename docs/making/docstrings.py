"""Docstrings as the site's parser reads them: `code` stays code, indented lines are blocks, settings are a list."""

import re
from typing import Any

from sphinx.application import Sphinx

SETTING = re.compile(r"^ {4}(\w+): (.*)$")


def rewrite(app: Sphinx, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn the plain text of a docstring into reStructuredText, in place."""
    lines[:] = list(rewritten(lines))


def rewritten(lines: list[str]) -> list[str]:
    """Each line with its marks; a block of indented lines gets the mark of a block before it."""
    result: list[str] = []
    inside = settings = False
    for line in lines:
        indented = line.startswith("    ")
        if line == "Settings:":
            settings, line = True, "**Settings**"
            result += [line, ""]
        elif settings and (row := SETTING.match(line)):
            result.append(f":{row[1]}: {marked(row[2])}")
        elif indented and not inside:
            result += ["", "::", "", line]
        else:
            result.append(line if indented else marked(line))
        inside = indented or (inside and not line)
    return result


def marked(line: str) -> str:
    """Code between double ticks, and no letter outside of it that means something else."""
    parts = line.split("`")
    plain = [re.sub(r"([*|\\]|_(?=\W|$))", r"\\\1", part) for part in parts[::2]]
    code = [f"``{part}``" for part in parts[1::2]]
    return "".join(piece for pair in zip(plain, [*code, ""], strict=False) for piece in pair)

"""Sentences as markup: escaped, code between backticks set as code, numbers kept beside their units."""

import re
from html import escape


def coded(text: str) -> str:
    """A sentence, escaped, with code where backticks are.

    Lines do not break between a number and its error or its per cent.
    """
    fixed = (
        escape(text)
        .replace(" %", "\u00a0%")
        .replace(" ± ", "\u00a0±\u00a0")
        .replace(" ×", "\u00a0×")
        .replace("‘ ", "‘\u00a0")
    )
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", fixed)


def prose(text: str) -> str:
    """The same in a report, where heads are links to their cards."""
    return re.sub(r"\bL(\d+)H(\d+)\b", r'<a class="head" href="#L\1H\2">L\1H\2</a>', coded(text))

"""Texts that any file and screen can hold."""

import os
import re


def numbered(count: int, noun: str) -> str:
    """A number of things: 1 window, 64 windows."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def escaped(text: str) -> str:
    """A token's or document's text that any file and screen can hold: control characters and the like as escapes."""
    return "".join(
        letter if letter.isprintable() and letter != "\\" else letter.encode("unicode_escape").decode()
        for letter in text
    )


def seen(text: str) -> str:
    """A token's text, which of blanks alone would be nothing: a mark for each."""
    return "␣" * len(text) if text.isspace() else text


LETTERS = 16
"""How much of a token is shown where it is quoted; JSON and CSV give all."""


def in_quotes(text: str, letters: int = LETTERS) -> str:
    """A token's text between quotes, so that blanks are seen, cut to a length."""
    cut = text if len(text) <= letters else f"{text[: letters - 1]}…"
    return f"‘{seen(cut)}’"


def short(source: str) -> str:
    """A model or text by its last name where it is a path: runs/add/model, as a training leaves it, is add."""
    *above, last = re.split(r"[/\\]", source.rstrip("/\\"))
    if len(above) < 2 and not source.startswith((".", "~", "/")):  # a name, or the name of an owner and a model
        return source
    return above[-1] if last == "model" and above and above[-1].strip(".~") else last or source


_SECRET = re.compile(r"(?<=://)[^/@\s]+@|\b(hf|ghp|gho|pat|sk)_[A-Za-z0-9_-]{16,}|(?<=[?&]token=)[^&\s]+")


def shareable(text: str) -> str:
    """A text that others may see: the home folder as ~, and passwords and tokens of addresses left out."""
    home = os.path.expanduser("~")
    if len(home) > 1:
        text = re.sub(rf"(?<![\w./-]){re.escape(home)}(?![\w.-])", "~", text)
    return _SECRET.sub("", text)

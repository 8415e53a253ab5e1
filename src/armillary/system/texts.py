"""Texts that any file and screen can hold."""


def numbered(count: int, noun: str) -> str:
    """A number of things: 1 window, 64 windows."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def escaped(text: str) -> str:
    """A token's or document's text that any file and screen can hold: control characters and the like as escapes."""
    return "".join(
        letter if letter.isprintable() and letter != "\\" else letter.encode("unicode_escape").decode()
        for letter in text
    )

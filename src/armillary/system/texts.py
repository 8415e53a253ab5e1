"""Texts that any file and screen can hold."""


def escaped(text: str) -> str:
    """A token's or document's text that any file and screen can hold: control characters and the like as escapes."""
    return "".join(
        letter if letter.isprintable() and letter != "\\" else letter.encode("unicode_escape").decode()
        for letter in text
    )

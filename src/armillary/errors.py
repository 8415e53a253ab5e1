"""What can go wrong in words a user can act on: one line that says what was expected, what was got, and what to do."""

import difflib
import errno
from collections.abc import Iterable
from pathlib import Path


class ArmillaryError(Exception):
    """Anything a user can put right. The command line prints it as one line and exits with code 2."""


class SourceError(ArmillaryError):
    """A model, tokenizer, corpus or wheel that cannot be found, read or trusted."""


class BrokenContract(ArmillaryError):  # noqa: N818  (a name of the public contract)
    """Our reading of a model's weights does not rebuild the model's own attention."""


class RequestError(ArmillaryError):
    """Arguments that cannot be met: too many windows, too long a window, a head that does not exist."""


class NonFiniteError(ArmillaryError):
    """An activation or weight that is not a finite number, named by layer and token, or by its tensor."""


class StoreError(ArmillaryError):
    """A folder of results that cannot be written, read, or is not what it should be."""


def not_written(path: Path, error: BaseException) -> StoreError:
    """A file that the disk did not take."""
    failing = getattr(error, "errno", None) == errno.EIO
    remedy = "check the disk" if failing else "free some space"
    return StoreError(f"cannot write {path} ({reason(error)}): {remedy} or choose another --out")


def reason(error: BaseException) -> str:
    """The first line of an error, without the path that some libraries repeat."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return text.splitlines()[0][:200]


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """What to do about a name that is not known: the near ones, else all of them."""
    names = list(known)
    near = difflib.get_close_matches(name, names, 3, cutoff)
    return f"did you mean {' or '.join(near)}?" if near else f"choose {', '.join(names) or 'none: there are none'}"


Number = int | float


def refuse_blank(text: str) -> None:
    """Refuse a prompt without a word."""
    if not text.strip():
        raise RequestError("expected at least one word, got an empty prompt: write a text")


def refuse_outside(
    what: str, value: Number, low: Number, high: Number, error: type[ArmillaryError] = RequestError
) -> None:
    """Refuse a number that does not lie from `low` to `high`; what is not a number does not either."""
    if not low <= value <= high:
        raise error(f"expected {what} from {low:g} to {high:g}, got {value}")

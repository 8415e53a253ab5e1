"""The border to the libraries that read models: what they raise on a bad file is one line here, and they ask nobody.

transformers, tokenizers and gguf were written for good files; on others they fail in whatever line comes first. Which
errors that are was found by feeding them some ten thousand damaged ones.
"""

import pickle
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from armillary.errors import ArmillaryError, SourceError

FAILURES = (
    *(OSError, ValueError, TypeError, AttributeError, LookupError, RuntimeError, ArithmeticError, AssertionError),
    *(ImportError, NameError, MemoryError, EOFError, StopIteration, struct.error, pickle.UnpicklingError),
)
NAMED = {"PanicException", "SafetensorError", "StrictDataclassError"}
"""By name: libraries in Rust give up with an error that no Python module names; others would have to be imported."""


class Reading:
    """Around a library that reads a file: `words` say what was expected, and the library's own first line why not."""

    def __init__(self, words: str, cure: str = "fetch it again") -> None:
        self.words, self.cure = words, cure

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None or error is None or issubclass(kind, ArmillaryError):
            return
        # tokenizers raise Exception itself: a handler for that would catch everything.
        if kind is Exception or issubclass(kind, FAILURES) or NAMED & {each.__name__ for each in kind.__mro__}:
            lines = str(error).strip().splitlines() or [kind.__name__]
            why = lines[0] if issubclass(kind, OSError | ValueError | RuntimeError) else f"{kind.__name__}: {lines[0]}"
            raise SourceError(f"expected {self.words}, got an error ({why[:300]}): {self.cure}") from error


@contextmanager
def offline() -> Iterator[None]:
    """No request leaves this machine inside, whatever a config names: what is to be fetched was fetched before."""
    from huggingface_hub import constants

    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before

"""Files and folders read as documents: bytes in, named texts out, and nothing guessed in silence."""

import gzip
import importlib.util
import io
import json
import os
import re
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armillary.corpora import parquet
from armillary.errors import SourceError

TEXT_KEY = "text"
MOST_REPLACED = 0.1
"""A file in which more than this share of the characters is invalid UTF-8 is no text."""

LINE, PACKED = 1 << 26, 200
"""The most bytes of a line, and how many times its size a packed text may have: letters pack to a third or a tenth."""

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Document:
    """One text with its name; `replaced` counts the places that were no valid UTF-8 and read as U+FFFD."""

    name: str
    text: str
    replaced: int = 0


@dataclass(frozen=True)
class Skipped:
    """A file of a folder that is no text, and why."""

    name: str
    why: str


class NotTextError(SourceError):
    """A file that holds no text: an error when it was asked for by name, left out and counted inside a folder."""


def document(name: str, text: str) -> Document:
    """A document from a str; lone surrogates (JSON can hold them) are replaced, because tokenizers refuse them."""
    clean, replaced = _SURROGATE.subn("\ufffd", text)
    return Document(name, clean, replaced)


def decoded(name: str, raw: bytes) -> Document:
    """A document from bytes read as UTF-8; line ends stay as they are, a byte order mark is dropped."""
    if b"\0" in raw:
        raise NotTextError(f"expected UTF-8 text in {name}, got NUL bytes (binary or UTF-16): convert it to UTF-8")
    text = raw.decode("utf-8-sig", errors="replace")
    replaced = text.count("\ufffd") - raw.count(b"\xef\xbf\xbd")
    if replaced > MOST_REPLACED * len(text):
        share = replaced / len(text)
        raise NotTextError(
            f"expected UTF-8 text in {name}, got {share:.0%} invalid characters: convert it to UTF-8 or omit it"
        )
    return Document(name, text, replaced)


def file_documents(path: Path, name: str | None = None) -> Iterator[Document]:
    """The documents of one file: .jsonl one per line, .parquet one per row, any other is one text; each also .gz."""
    name = path.name if name is None else name
    with _opened(path, name) as file:
        match Path(path.name.removesuffix(".gz")).suffix.lower():
            case ".jsonl":
                yield from _json_lines(file, name)
            case ".parquet":
                yield from _parquet_rows(path, name)
            case _:
                yield decoded(name, _whole(file, path, name))


def folder_documents(folder: Path, suffix: str = "", without: Collection[str] = ()) -> Iterator[Document | Skipped]:
    """The documents of all files below a folder, sorted by path, but hidden ones and folders named in `without`."""
    paths = sorted(_files(folder, suffix, without), key=lambda path: path.relative_to(folder).as_posix())
    if not paths:
        raise SourceError(f"expected at least one file in the folder {folder}, got none: put the texts there")
    found = False
    for path in paths:
        name = path.relative_to(folder).as_posix()
        try:
            for found_document in file_documents(path, name):
                found = True
                yield found_document
        except NotTextError as error:
            yield Skipped(name, str(error))
    if not found:
        raise SourceError(f"expected texts in the folder {folder}, got {len(paths)} other files: convert them to UTF-8")


def _files(folder: Path, suffix: str, without: Collection[str]) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(".") and each not in without]
        paths = (Path(root, each) for each in names if not each.startswith(".") and each.endswith(suffix))
        yield from (path for path in paths if path.is_file())


@contextmanager
def _opened(path: Path, name: str) -> Iterator[io.BufferedIOBase]:
    try:
        packed = path.suffix == ".gz"
        with path.open("rb") as plain, gzip.open(plain) if packed else nullcontext(plain) as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SourceError(
            f"expected a complete gzip file in {name}, got a damaged one ({error}): fetch it again"
        ) from error
    except PermissionError as error:
        raise NotTextError(f"expected to read {name}, got {error.strerror}: change its permissions") from error
    except OSError as error:
        raise SourceError(f"expected to read {name}, got {error.strerror or error}: check the path") from error


def _whole(file: io.BufferedIOBase, path: Path, name: str) -> bytes:
    """All bytes of a file; of a packed one no more than a text can have been packed from."""
    if not isinstance(file, gzip.GzipFile):
        return file.read()
    most = max(LINE, PACKED * path.stat().st_size)
    found = file.read(most + 1)
    if len(found) > most:
        raise SourceError(f"expected a text in {name}, got over {PACKED} times its packed size: do not trust this file")
    return found


def _json_lines(file: io.BufferedIOBase, name: str) -> Iterator[Document]:
    for number, raw in enumerate(iter(lambda: file.readline(LINE + 1), b""), start=1):
        if len(raw) > LINE:
            raise SourceError(
                f"expected lines of at most {LINE >> 20} MB in {name}, got a longer line {number}: split it"
            )
        line = decoded(f"{name}:{number}", raw)
        if not line.text.strip():
            continue
        try:
            row = json.loads(line.text)
        except (ValueError, RecursionError) as error:
            raise SourceError(
                f"expected one JSON object in {line.name}, got something else ({error}): correct or drop the line"
            ) from error
        text = text_of(row, line.name)
        found = document(line.name, text)
        yield Document(found.name, found.text, found.replaced + line.replaced)


def text_of(row: Any, name: str) -> str:
    """The text of one row of a data set, or an error that names what the row holds."""
    if not isinstance(row, dict):
        raise SourceError(f'expected an object with a "text" key in {name}, got {type(row).__name__}: write one')
    if TEXT_KEY not in row:
        raise SourceError(f'expected a "text" key in {name}, got {_shown(row)}: rename the one that holds the text')
    text = row[TEXT_KEY]
    if text is None:
        return ""
    if not isinstance(text, str):
        raise SourceError(f'expected a str under "text" in {name}, got {type(text).__name__}: convert it to a str')
    return text


def _parquet_rows(path: Path, name: str) -> Iterator[Document]:
    if importlib.util.find_spec("pyarrow") is None:
        raise SourceError(f"expected pyarrow to read {name}, got none: pip install armillary[data]")
    try:
        for number, text in enumerate(parquet.texts(path, name)):
            yield document(f"{name}:{number}", text or "")
    except parquet.ParquetError as error:
        raise SourceError(str(error)) from error


def _shown(names: Collection[str]) -> str:
    shown = ", ".join(sorted(map(str, names))[:8])
    return shown or "nothing"

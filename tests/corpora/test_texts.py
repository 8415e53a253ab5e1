import gzip
import json
import os
import sys

import pyarrow
import pyarrow.parquet
import pytest

from armillary.corpora import corpus
from armillary.corpora.texts import Document, Skipped
from armillary.errors import SourceError


def read(path):
    return list(corpus(path).read())


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.rst", "a"])
def test_a_text_file_is_one_document_with_its_line_ends_kept(tmp_path, name):
    (tmp_path / name).write_bytes("é\r\nline two\n".encode())
    assert read(tmp_path / name) == [Document(name, "é\r\nline two\n")]


def test_a_byte_order_mark_is_not_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfword")
    assert read(tmp_path / "a.txt") == [Document("a.txt", "word")]


def test_json_lines_are_one_document_each(tmp_path):
    rows = ['{"text": "one", "id": 7}', "", '{"text": "two"}', '{"text": null}']
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    expected = [Document("a.jsonl:1", "one"), Document("a.jsonl:3", "two"), Document("a.jsonl:4", "")]
    assert read(tmp_path / "a.jsonl") == expected


def test_a_lone_surrogate_in_json_is_replaced_and_counted(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a\\ud800b"}')
    assert read(tmp_path / "a.jsonl") == [Document("a.jsonl:1", "a�b", 1)]


def test_parquet_rows_are_one_document_each(tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"text": ["one", "two"], "id": [1, 2]}), tmp_path / "a.parquet")
    assert [each.text for each in read(tmp_path / "a.parquet")] == ["one", "two"]


@pytest.mark.parametrize("suffix", [".txt", ".jsonl", ".parquet"])
def test_every_kind_of_file_is_also_read_from_gzip(tmp_path, suffix):
    plain = tmp_path / f"a{suffix}"
    if suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.table({"text": ["word"]}), plain)
    else:
        plain.write_text("word" if suffix == ".txt" else json.dumps({"text": "word"}))
    packed = tmp_path / f"a{suffix}.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert [each.text for each in read(packed)] == [each.text for each in read(plain)] == ["word"]


def test_invalid_utf8_is_replaced_and_counted_but_a_true_replacement_character_is_not(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a long enough text " * 5 + b"\xff \xfe" + "\ufffd".encode())
    (found,) = read(tmp_path / "a.txt")
    assert found.replaced == 2


@pytest.mark.parametrize(
    ("raw", "message"),
    [(b"abc\0def", "NUL bytes"), ("wide".encode("utf-16"), "UTF-16"), (b"\xff\xfe\xfd abc", "invalid characters")],
)
def test_a_binary_file_is_refused(tmp_path, raw, message):
    (tmp_path / "a.txt").write_bytes(raw)
    with pytest.raises(SourceError, match=rf"expected UTF-8 text in a.txt, got .*{message}.*convert it"):
        read(tmp_path / "a.txt")


@pytest.mark.parametrize("damage", [lambda raw: raw[:-12], lambda raw: b"no gzip", lambda raw: raw[:12] + b"\xff" * 40])
def test_a_damaged_gzip_file_is_refused(tmp_path, damage):
    (tmp_path / "a.txt.gz").write_bytes(damage(gzip.compress(b"words and words " * 100)))
    with pytest.raises(
        SourceError, match=r"expected a complete gzip file in a\.txt\.gz, got a damaged one \(.*fetch it again"
    ):
        read(tmp_path / "a.txt.gz")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{broken", r"expected one JSON object in a\.jsonl:1, got something else \(.*correct or drop"),
        ('{"body": "x", "id": 1}', r'expected a "text" key in a\.jsonl:1, got body, id: rename'),
        ("{}", r"got nothing: rename"),
        ('"bare"', r'expected an object with a "text" key in a\.jsonl:1, got str: write one'),
        ('{"text": 3}', r'expected a str under "text" in a\.jsonl:1, got int'),
    ],
)
def test_a_json_line_without_text_is_refused_by_its_number(tmp_path, line, message):
    (tmp_path / "a.jsonl").write_text(line)
    with pytest.raises(SourceError, match=message):
        read(tmp_path / "a.jsonl")


def test_a_parquet_file_without_a_text_column_is_refused_with_its_columns(tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"body": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"expected a text column in a\.parquet, got body: rename"):
        read(tmp_path / "a.parquet")


def test_a_parquet_file_that_is_none_is_refused(tmp_path):
    (tmp_path / "a.parquet").write_text("no parquet at all")
    with pytest.raises(SourceError, match=r"expected a parquet file in a\.parquet, got a damaged one \("):
        read(tmp_path / "a.parquet")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_text("")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SourceError, match=r"pip install armillary\[data\]"):
        read(tmp_path / "a.parquet")


def test_a_folder_is_read_recursively_in_sorted_order_without_hidden_files(tmp_path):
    for name in ("b.txt", "a/z.md", "a/y.jsonl", ".hidden", ".git/config", "c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"text": "line"}\n')
    (tmp_path / "bad.bin").write_bytes(b"\0\1")
    found = read(tmp_path)
    assert [each.name for each in found] == ["a/y.jsonl:1", "a/z.md", "b.txt", "bad.bin", "c.txt"]
    assert isinstance(found[3], Skipped)
    assert "NUL" in found[3].why


def test_a_link_that_leads_nowhere_or_in_a_circle_is_left_out(tmp_path):
    (tmp_path / "a.txt").write_text("word")
    os.symlink(tmp_path / "nowhere", tmp_path / "broken.txt")
    os.symlink(tmp_path, tmp_path / "circle")
    assert [each.name for each in read(tmp_path)] == ["a.txt"]


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(SourceError, match=r"expected at least one file in the folder .*, got none: put the texts"):
        read(tmp_path)


def test_a_folder_of_binaries_is_refused(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"\0")
    with pytest.raises(SourceError, match=r"expected texts in the folder .*, got 1 other files: convert them"):
        read(tmp_path)


def test_a_file_that_vanished_is_refused_when_read(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("word")
    found = corpus(path)
    path.unlink()
    with pytest.raises(SourceError, match=r"expected to read a\.txt, got No such file"):
        list(found.read())


def test_deep_json_is_refused(tmp_path):
    (tmp_path / "a.jsonl").write_text("[" * 100_000)
    with pytest.raises(SourceError, match=r"expected one JSON object in a\.jsonl:1, got something else"):
        read(tmp_path / "a.jsonl")


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("armillary.corpora.texts.LINE", 1 << 20)
    (tmp_path / "a.jsonl").write_text('{"text": "' + "x" * (1 << 21) + '"}')
    with pytest.raises(SourceError, match=r"expected lines of at most 1 MB in a\.jsonl, got a longer line 1"):
        read(tmp_path / "a.jsonl")


def test_a_packed_file_that_unpacks_to_far_more_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("armillary.corpora.texts.LINE", 1 << 20)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b" " * (1 << 24)))
    with pytest.raises(SourceError, match=r"got over 200 times its packed size: do not trust this file"):
        read(tmp_path / "a.txt.gz")


def test_parquet_that_is_no_utf8_is_refused(tmp_path):
    raw = pyarrow.array([b"caf\xe9"], pyarrow.binary())
    column = pyarrow.Array.from_buffers(pyarrow.string(), 1, raw.buffers())
    pyarrow.parquet.write_table(pyarrow.table({"text": column}), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"expected a parquet file in a\.parquet, got a damaged one \('utf-8' codec"):
        read(tmp_path / "a.parquet")


def test_parquet_that_holds_other_things_than_texts_is_refused(tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"text": [1, 2]}), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"expected texts in the text column of a\.parquet, got int64: convert them"):
        read(tmp_path / "a.parquet")


def test_a_small_parquet_file_that_needs_gigabytes_is_refused(tmp_path):
    words = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 300, pyarrow.int32()), ["x" * 4_000_000])
    pyarrow.parquet.write_table(pyarrow.table({"text": words}), tmp_path / "a.parquet", store_schema=False)
    assert (tmp_path / "a.parquet").stat().st_size < 1_000_000
    with pytest.raises(SourceError, match=r"expected a parquet file in a\.parquet, got (a damaged one|one that 1 GB)"):
        read(tmp_path / "a.parquet")

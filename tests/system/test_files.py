"""A file appears when it is whole; until then the older one stays, and nothing else is left behind."""

import os

import pytest

from armillary.errors import StoreError
from armillary.system.files import replacing, temporary, write_bytes, write_text


def test_text_and_bytes_are_written_as_they_are_and_folders_made(tmp_path):
    path = tmp_path / "new" / "page.html"
    write_text(path, "ä\nb\n")
    assert path.read_bytes() == "ä\nb\n".encode()
    write_bytes(path, b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert list(path.parent.iterdir()) == [path]


def test_what_fails_half_way_leaves_the_older_file_alone(tmp_path):
    path = tmp_path / "states.nc"
    write_text(path, "before")

    def half():
        with replacing(path) as fresh:
            assert fresh == temporary(path) != path
            fresh.write_text("half")
            raise KeyError("a bug of ours")

    with pytest.raises(KeyError):
        half()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_takes_nothing_is_an_error_in_one_line(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(StoreError, match=r"cannot write .*page\.html \(No space left on device\): free some space"):
        write_text(tmp_path / "page.html", "text")
    assert not list(tmp_path.iterdir())

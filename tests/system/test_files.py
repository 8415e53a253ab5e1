"""A file appears when it is whole; until then the older one stays, and nothing else is left behind."""

import os
import re
import stat
import subprocess
import sys
import time

import pytest

from armillary.errors import StoreError
from armillary.system.files import replacing, sweep, temporary, this_machine, write_bytes, write_text


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


def ended_process():
    """The number of a process that lives no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_what_a_killed_process_left_behind_goes_and_nothing_else(tmp_path):
    gone, here = ended_process(), this_machine()
    left = [f".states.nc.{here}-{gone}.tmp", f".states.nc.{gone}.tmp", f".states.nc.{here}-{gone}.room"]
    kept = [
        *("states.nc", ".hidden", ".a.tmp", "notes.1.tmp", f".x.{here}-{os.getpid()}.tmp", f".x.{os.getpid()}.tmp"),
        f".x.0badcafe-{gone}.tmp",
    ]
    for name in (*left, *kept):
        (tmp_path / name).write_text("")
    (tmp_path / f".entry.{here}-{gone}.tmp").mkdir()
    (tmp_path / f".entry.{here}-{gone}.tmp" / "half").write_text("")
    sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(kept)
    sweep(tmp_path / "nowhere")


def test_another_machines_temporary_file_goes_after_a_day(tmp_path):
    path = tmp_path / ".states.nc.0badcafe-1.tmp"
    path.write_text("")
    os.utime(path, (time.time() - 90_000,) * 2)
    sweep(tmp_path)
    assert not path.exists()


def test_a_link_to_a_folder_is_removed_and_the_folder_is_not(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / f".a.{this_machine()}-{ended_process()}.tmp").symlink_to(tmp_path / "precious")
    sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_file_and_folder_are_on_the_disk_before_and_after_the_rename(tmp_path, monkeypatch):
    done = []
    sync, rename = os.fsync, os.replace
    monkeypatch.setattr("os.fsync", lambda number: (done.append(stat.S_ISDIR(os.fstat(number).st_mode)), sync(number)))
    monkeypatch.setattr("os.replace", lambda *paths: (done.append("rename"), rename(*paths)))
    write_text(tmp_path / "a", "x")
    assert done == [False, "rename", True]


def test_a_folder_in_the_place_of_a_file_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(StoreError, match=rf"^expected a file to write, got the folder {re.escape(str(tmp_path))}: "):
        write_text(tmp_path, "page")
    assert list(tmp_path.iterdir()) == []

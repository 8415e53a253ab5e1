"""Disks that are full, fail, or hold what memory has no room for."""

import os
import resource
import signal

import pytest

import armillary as arm
from armillary.errors import StoreError
from small_survey import assert_same_bits


def test_finished_groups_go_to_disk_once_there_is_no_room(view, text, monkeypatch, unbroken):
    monkeypatch.setattr("armillary.surveys.shelving.ROOM", 100_000)
    monkeypatch.setattr("armillary.surveys.rooms.LARGE", 10_000)
    assert_same_bits(arm.survey(view, text[:50], progress=False), unbroken)


def test_sums_that_a_disk_does_not_give_back_are_one_line(view, text, tmp_path, monkeypatch):
    monkeypatch.setattr("armillary.surveys.shelving.ROOM", 0)
    monkeypatch.setattr("armillary.surveys.sums.shelf.zlib.crc32", lambda content: len(content) * os.urandom(1)[0] + 1)
    with pytest.raises(
        StoreError, match=r"^cannot read back sums .*a checksum of finished-00001.bin differs.*--resume"
    ):
        arm.survey(view, text[:20], out=tmp_path, progress=False)


def test_a_full_disk_leaves_no_half_file(view, text, tmp_path):
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limit[1]))
    try:
        with pytest.raises(StoreError, match=r"cannot write .*states.nc .*free some space or choose another --out"):
            arm.survey(view, text[:20], out=tmp_path / "run", progress=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    assert list((tmp_path / "run").iterdir()) == []


def test_a_measure_that_fails_while_the_states_are_written_leaves_no_half_file(view, text, tmp_path, monkeypatch):
    def fails(groups):
        raise ZeroDivisionError("in a measure")

    monkeypatch.setattr("armillary.results.measuring.measured", fails)
    with pytest.raises(ZeroDivisionError, match="in a measure"):
        arm.survey(view, text[:20], out=tmp_path / "run", progress=False)
    assert list((tmp_path / "run").iterdir()) == []


def test_a_disk_that_fills_up_while_the_measures_are_made_says_so(view, text, tmp_path, monkeypatch):
    from armillary.results.netcdf import Netcdf

    real, steps = Netcdf.add, []

    def full(self, groups):
        real(self, groups)
        steps.append(list(groups))
        if len(steps) == 2:
            raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Netcdf, "add", full)
    with pytest.raises(StoreError, match=r"cannot write .*states.nc \(No space left on device\): free some space"):
        arm.survey(view, text[:20], out=tmp_path / "run", progress=False)
    assert "residual" in steps[0]
    assert "position" in steps[1]
    assert list((tmp_path / "run").iterdir()) == []


def test_a_full_disk_at_a_checkpoint_says_so(view, text, tmp_path, monkeypatch):
    from armillary.surveys.checkpoint import Checkpoint

    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("armillary.surveys.plan.SHARD_TOKENS", 160)
    monkeypatch.setattr("armillary.surveys.total.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(Checkpoint, "place", full)
    with pytest.raises(StoreError, match=r"cannot write the checkpoint .*No space left on device.*free some space"):
        arm.survey(view, text[:50], out=tmp_path / "run", progress=False)


def test_a_folder_that_cannot_be_made_is_named(view, text, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot make the folder .*choose another --out"):
        arm.survey(view, text[:20], out=tmp_path / "file" / "run", progress=False)

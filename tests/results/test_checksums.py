"""A byte that changed in a results file does not go unnoticed, and a file without checksums says so."""

import re
import sys
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

import h5py
import numpy as np
import pytest
import xarray as xr

from armillary.errors import StoreError
from armillary.results import checksums, store
from armillary.results.netcdf import Netcdf, read
from armillary.results.stored import StoredArray, StoredFile


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file with every type of value, its bytes, and where those of its numbers lie."""
    rng = np.random.default_rng(0)
    groups = {
        "norms": xr.Dataset(
            {"norm": ("layer", rng.normal(size=40)), "flag": ("layer", rng.random(40) > 0.5)},
            coords={"layer": np.arange(40)},
            attrs={"description": "numbers", "groups": 16.5},
        ),
        "sample": xr.Dataset(
            {
                "states": (("layer", "sample"), rng.normal(size=(5, 30)).astype(np.float32), {"units": "1"}),
                "text": ("sample", np.array([f"token {number}" for number in range(30)])),
            }
        ),
    }
    path = tmp_path_factory.mktemp("whole") / "states.nc"
    file = Netcdf(path, {"armillary_format": 1, "model": "m", "seed": 3})
    file.add(groups)
    file.close()
    with h5py.File(path) as opened:
        arrays = [array for group in opened.values() for array in group.values() if array.id.get_offset() is not None]
        places = [(array.id.get_offset(), array.id.get_storage_size()) for array in arrays]
    return path, path.read_bytes(), np.concatenate([np.arange(start, start + size) for start, size in places])


@pytest.fixture
def in_this_process(monkeypatch):
    """Files are looked into here: a thousand processes take minutes."""
    monkeypatch.setattr(sys, "executable", "")


def flipped(raw, at, rng):
    """The bytes with another one at a place."""
    changed = bytearray(raw)
    changed[at] ^= int(rng.integers(1, 256))
    return bytes(changed)


def loaded(path):
    """Everything that a file says."""
    tree = read([path])[0][path].load()
    tree.close()
    return tree


@pytest.mark.parametrize("flips", [50, pytest.param(1000, marks=pytest.mark.nightly)])
def test_every_flipped_byte_of_the_data_is_noticed(whole, tmp_path, in_this_process, flips):
    _, raw, places = whole
    rng = np.random.default_rng(1)
    noticed = 0
    for at in rng.choice(places, flips):
        (tmp_path / "states.nc").write_bytes(flipped(raw, at, rng))
        with pytest.raises(StoreError, match=r"is not a results file of Armillary \(.*\): restore it or survey again"):
            loaded(tmp_path / "states.nc")
        noticed += 1
    assert noticed == flips


def test_an_array_is_checked_when_it_is_looked_at_and_not_before(whole, tmp_path):
    path, raw, _ = whole
    with h5py.File(path) as opened:
        at = opened["sample/states"].id.get_offset()
    (tmp_path / "states.nc").write_bytes(flipped(raw, at + 100, np.random.default_rng(3)))
    tree = read([tmp_path / "states.nc"])[0][tmp_path / "states.nc"]
    assert tree["norms"].norm.values.shape == (40,)
    message = (
        f"{tmp_path / 'states.nc'} is not a results file of Armillary (/sample/states is damaged: its checksum is "
        "another): restore it or survey again"
    )
    with pytest.raises(StoreError, match=f"^{re.escape(message)}$"):
        _ = tree["sample"].states[3].values


def test_two_threads_that_look_at_one_array_at_a_time_both_get_it(whole, monkeypatch):
    array = StoredArray(StoredFile(whole[0]), "sample/states", {"offset": 0, "shape": [4], "dtype": "<u1"}, None)
    array.checksum = zlib.crc32(whole[1][:4])
    both, real = threading.Barrier(2, timeout=20), array.file.read
    begun: set[int] = set()

    def read_when_both_check(*place):
        if threading.get_ident() not in begun:
            begun.add(threading.get_ident())
            both.wait()
        real(*place)

    monkeypatch.setattr(array.file, "read", read_when_both_check)
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda _: array.part((slice(None),)), range(2))
    assert [bytes(part) for part in found] == [whole[1][:4]] * 2


def test_rows_columns_and_steps_are_those_of_the_whole_array(whole):
    lazily, truth = read([whole[0]])[0][whole[0]]["sample"].states, loaded(whole[0])["sample"].states.values
    for key in (
        (slice(None), 3), (2,), (-1, slice(1, None, 4)), (slice(3, None, -1),), ([0, 4], [1, 2]), (slice(2, 2), 0),
        (slice(None, None, -2), [5, 3, 3]), (np.array([True, False, True, False, False]), slice(None)),
    ):  # fmt: skip
        expected = truth[np.ix_(*key)] if all(isinstance(part, list) for part in key) else truth[key]
        np.testing.assert_array_equal(lazily.isel(dict(zip(("layer", "sample"), key, strict=False))).values, expected)


def test_a_file_that_was_replaced_is_read_to_its_end(whole, tmp_path):
    path = tmp_path / "states.nc"
    path.write_bytes(whole[1])
    tree = read([path])[0][path]
    (tmp_path / "new").write_bytes(b"another")
    (tmp_path / "new").replace(path)
    assert tree["norms"].norm.values.shape == (40,)


def test_a_file_that_shrinks_while_it_is_read_is_refused(whole, tmp_path):
    path = tmp_path / "states.nc"
    path.write_bytes(whole[1])
    tree = read([path])[0][path]
    path.write_bytes(whole[1][:2000])
    with pytest.raises(StoreError, match=r"/sample/states ends early"):
        _ = tree["sample"].states.values


def test_a_file_without_checksums_opens_and_says_so(tmp_path, capsys):
    norms = xr.Dataset({"norm": ("layer", np.arange(3.0)), "norm_se": ("layer", np.ones(3))})
    store.write(tmp_path, "states.nc", {"norms": norms}, {"model": "m"})
    with h5py.File(tmp_path / "states.nc", "r+") as file:
        for place in (file, file["norms"]):
            del place.attrs[checksums.NAME]
    assert store.open(tmp_path).results["norms"].norm.values.tolist() == [0, 1, 2]
    said = capsys.readouterr().err
    line = f"without checksums, as in earlier versions: states.nc; `armillary measure {tmp_path}` adds them\n"
    assert said == line

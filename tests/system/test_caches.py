"""Files of wheels: fetched with pip, checked, unpacked safely, once. The index is a folder of wheels made here."""

import hashlib
import os
import re
import stat
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from armillary.errors import SourceError
from armillary.system import caches
from armillary.system.caches import cache_dir, cache_entry, file_sha256_once, unpack, wheel_member
from armillary.system.files import this_machine


def wheel(folder, members, name="tiny_data-1.0-py3-none-any.whl"):
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / name, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
        package, version = name.split("-")[:2]
        meta = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        archive.writestr(f"{package}-{version}.dist-info/METADATA", meta)
        archive.writestr(f"{package}-{version}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{package}-{version}.dist-info/RECORD", "")
    return hashlib.sha256((folder / name).read_bytes()).hexdigest()


@pytest.fixture
def index(tmp_path, cache, monkeypatch):
    """A package index of one folder, chosen as a user would: by pip's own settings."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return tmp_path / "index"


def refusal(*arguments):
    with pytest.raises(SourceError) as raised:
        wheel_member(*arguments)
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith("expected ")
    return str(raised.value)


def left_over(cache):
    return [path for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"]


def test_the_cache_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("ARMILLARY_CACHE", str(tmp_path / "own"))
    assert cache_dir() == tmp_path / "own"
    monkeypatch.delenv("ARMILLARY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "shared"))
    assert cache_dir() == tmp_path / "shared" / "armillary"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_dir() == Path.home() / ".cache" / "armillary"


def test_a_file_and_a_folder_are_fetched_once_and_nothing_else_is_unpacked(index, cache, monkeypatch):
    digest = wheel(index, {"data/a.txt": "A", "data/deep/b.txt": "B", "data2/c.txt": "C", "other.txt": "no"})
    file = wheel_member("tiny-data", "1.0", "data/a.txt", digest)
    folder = wheel_member("tiny-data", "1.0", "data/")
    assert file.read_text() == "A"
    assert (folder / "deep" / "b.txt").read_text() == "B"
    assert sorted(path.name for path in left_over(cache)) == ["a.txt", "a.txt", "b.txt"]
    monkeypatch.setattr(caches, "_downloaded", lambda *_: pytest.fail("fetched twice"))
    assert wheel_member("tiny-data", "1.0", "data/a.txt") == file
    assert wheel_member("tiny-data", "1.0", "data", digest) == folder


def test_a_wheel_with_another_hash_is_refused_and_leaves_nothing(index, cache):
    digest = wheel(index, {"data/a.txt": "A"})
    message = refusal("tiny-data", "1.0", "data/a.txt", "0" * 64)
    assert digest in message
    assert not left_over(cache)
    assert "64 lower-case hex digits" in refusal("tiny-data", "1.0", "data/a.txt", "abc")


def test_a_hash_given_later_is_still_checked(index):
    digest = wheel(index, {"data/a.txt": "A"})
    wheel_member("tiny-data", "1.0", "data/a.txt")
    assert wheel_member("tiny-data", "1.0", "data/a.txt", digest).read_text() == "A"
    assert "the index serves another file" in refusal("tiny-data", "1.0", "data/a.txt", "1" * 64)


@pytest.mark.parametrize("member", ["../a.txt", "/etc/passwd", "data/../../a", "", "/", "c:\\a", "a\\..\\b"])
def test_a_path_out_of_the_wheel_is_refused(index, member):
    assert "a path inside the wheel" in refusal("tiny-data", "1.0", member)


def test_a_wheel_whose_names_lead_out_is_refused(index, cache, tmp_path):
    wheel(index, {"data/a.txt": "A", "data/../../../../escaped.txt": "out"})
    assert "do not trust this wheel" in refusal("tiny-data", "1.0", "data")
    assert not left_over(cache)
    assert not list(tmp_path.rglob("escaped.txt"))


def test_a_wheel_with_links_is_refused(index, cache):
    link = zipfile.ZipInfo("data/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    wheel(index, {"data/a.txt": "A", link: "/etc/passwd"})
    assert "do not trust this wheel" in refusal("tiny-data", "1.0", "data")
    assert not left_over(cache)


def test_a_member_that_is_not_there_is_named(index):
    wheel(index, {"data/a.txt": "A"})
    assert "'data/z.txt' inside tiny_data-1.0-py3-none-any.whl" in refusal("tiny-data", "1.0", "data/z.txt")


def test_a_package_or_version_that_is_not_there_is_named(index):
    wheel(index, {"data/a.txt": "A"})
    assert "versions 1.0: choose one" in refusal("tiny-data", "2.0", "data/a.txt")
    assert "no wheel of no-such-package for this Python" in refusal("no-such-package", "1.0", "a")


@pytest.mark.parametrize(("package", "version"), [("--index-url", "1"), ("a b", "1"), ("a", "1 --pre"), ("a", "")])
def test_names_that_pip_would_read_as_options_are_refused(package, version):
    assert "wheel:PACKAGE==VERSION/path" in refusal(package, version, "a")


def test_no_network_is_said(index, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    assert "no connection" in refusal("tiny-data", "1.0", "data/a.txt")


def test_no_pip_is_said(index, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "ensurepip" in refusal("tiny-data", "1.0", "data/a.txt")


def test_a_file_that_is_no_wheel_is_refused(index, cache, monkeypatch, tmp_path):
    (tmp_path / "bad.whl").write_bytes(b"no zip")
    monkeypatch.setattr(caches, "_downloaded", lambda *_: tmp_path / "bad.whl")
    assert "complete wheel" in refusal("tiny-data", "1.0", "data/a.txt")
    assert not left_over(cache)


def test_a_cache_that_cannot_be_written_is_said(index, monkeypatch, tmp_path):
    wheel(index, {"data/a.txt": "A"})
    (tmp_path / "file").touch()
    monkeypatch.setenv("ARMILLARY_CACHE", str(tmp_path / "file"))
    assert "set ARMILLARY_CACHE" in refusal("tiny-data", "1.0", "data/a.txt")
    monkeypatch.setenv("ARMILLARY_CACHE", str(tmp_path / "closed"))
    (tmp_path / "closed" / "wheels" / "tiny-data-1.0.lock").mkdir(parents=True)
    assert "set ARMILLARY_CACHE" in refusal("tiny-data", "1.0", "data/a.txt")


def test_two_processes_may_fetch_at_once(index, cache):
    wheel(index, {f"data/{number}.txt": "x" * 1000 for number in range(50)})
    code = "from armillary.system.caches import wheel_member; print(wheel_member('tiny-data', '1.0', 'data'), end='')"
    command = [sys.executable, "-c", code]
    clients = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    found = [client.communicate(timeout=60)[0] for client in clients]
    assert found[0] == found[1]
    assert len(list(Path(found[0]).iterdir())) == 50


def test_an_entry_that_fails_halfway_leaves_nothing(tmp_path):
    def fail():
        with cache_entry(tmp_path / "made") as fresh:
            (fresh / "half").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not list(tmp_path.iterdir())


def test_the_first_of_two_entries_wins(tmp_path):
    with cache_entry(tmp_path / "made") as slow:
        (slow / "who").write_text("slow")
        with cache_entry(tmp_path / "made") as quick:
            (quick / "who").write_text("quick")
    assert (tmp_path / "made" / "who").read_text() == "quick"
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_a_hash_is_remembered_until_the_file_changes(tmp_path, cache, monkeypatch):
    file = tmp_path / "file"
    file.write_bytes(b"one")
    first = file_sha256_once(file)
    assert first == hashlib.sha256(b"one").hexdigest()
    monkeypatch.setattr(caches, "file_sha256", lambda path: hashlib.sha256(path.read_bytes() + b"!").hexdigest())
    assert file_sha256_once(file) == first
    file.write_bytes(b"other")
    assert file_sha256_once(file) == hashlib.sha256(b"other!").hexdigest()
    (cache / "hashes.json").write_text("[broken")
    assert file_sha256_once(file) == hashlib.sha256(b"other!").hexdigest()


def test_listing_named_models_and_fetching_wheels_needs_no_torch():
    code = (
        "import sys; from armillary.models import NAMED; import armillary.system.caches; list(NAMED.values());"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("way", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_wheel_packed_in_any_way_is_read_and_a_damaged_one_refused(cache, tmp_path, way):
    path = tmp_path / "a-1.whl"
    with zipfile.ZipFile(path, "w", way) as archive:
        archive.writestr("data/a.txt", "A" * 5000)
    unpack(path, "data", tmp_path)
    assert (tmp_path / "data" / "a.txt").read_text() == "A" * 5000
    raw = bytearray(path.read_bytes())
    raw[45:60] = bytes(15)
    path.write_bytes(raw)
    with pytest.raises(
        SourceError, match=r"^expected a-1\.whl to be a complete wheel, got a damaged one \(.*\): fetch it"
    ):
        unpack(path, "data", tmp_path / "again")


def test_a_way_of_packing_that_nobody_knows_is_refused(tmp_path):
    path = tmp_path / "a-1.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/a.txt", "A")
    raw = bytearray(path.read_bytes())
    listed = raw.index(b"PK\x01\x02")
    raw[8:10] = raw[listed + 10 : listed + 12] = b"\x63\0"
    path.write_bytes(raw)
    with pytest.raises(SourceError, match=r"got a damaged one \(That compression method is not supported\)"):
        unpack(path, "data", tmp_path)


def test_a_wheel_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(caches, "SMALL", 1 << 20)
    path = tmp_path / "a-1.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/a.txt", bytes(1 << 25))
    with pytest.raises(SourceError, match=r"got 32 MB declared: do not trust this wheel"):
        unpack(path, "data", tmp_path)


def test_no_name_of_a_wheel_reaches_pip_as_an_option(monkeypatch, cache):
    asked = []
    monkeypatch.setattr(caches, "_downloaded", lambda package, version, folder: asked.append((package, version)))
    rng = np.random.default_rng(0)
    letters = [*"ab1ab1ab1.-_=@ \n;#'\"/\\:$", "--index-url", "-r", "file://", "--pre"]
    for _ in range(300):
        package, version = ("".join(rng.choice(letters, int(rng.integers(1, 6)))) for _ in range(2))
        with suppress(SourceError, TypeError, AttributeError):
            wheel_member(package, version, "a")
    assert all(re.fullmatch(r"[A-Za-z0-9][\w.-]*", name) and not version.startswith("-") for name, version in asked)
    assert asked


def test_what_a_killed_fetch_left_behind_goes_with_the_next(index, cache):
    wheel(index, {"data/a.txt": "A"})
    left = cache / "wheels" / f".fetch-x.{this_machine()}-4194303.tmp"
    left.mkdir(parents=True)
    (left / "half.whl").write_text("")
    assert wheel_member("tiny-data", "1.0", "data/a.txt").read_text() == "A"
    assert not left.exists()

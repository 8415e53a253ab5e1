"""What a results file says of itself, read and checked piece by piece: it may come from a stranger.

This file is also a program. Others never open HDF5: they run it in a process of its own with limits on time and memory,
so that a file that HDF5 itself stumbles over cannot harm anybody, and get back plain JSON: every group with its
attributes, every array with type, shape, axes and the place of its bytes in the file, and every text. It imports
nothing of Armillary.
"""

import json
import os
import stat
import sys
from typing import Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5g, h5l, h5o, h5r, h5t

GROUPS, LINKS, ATTRIBUTES, DIMENSIONS = 256, 2048, 512, 12
"""The most groups of a file, arrays of a group, attributes of either, and axes of an array."""

ATTRIBUTE_BYTES, TEXT_BYTES, LABELS = 1 << 20, 1 << 26, 1 << 24
"""The most bytes of an attribute and of all texts of a file, and the most labels along an axis."""

REFERENCE_BYTES = 16
"""How HDF5 keeps a text of any length: four bytes for its length, twelve for where it lies."""

SPARSE, SPARSE_BYTES = 50, 1 << 30
"""A file of a gigabyte or more that takes less than this part of its length on disk declares what it does not hold."""

UNNAMED = b"This is a netCDF dimension but not a netCDF variable."
OWN = {"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "DIMENSION_LABELS"}
NETCDF = {"_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "_nc3_strict"}
"""What HDF5 and netCDF note for themselves."""


MEMORY, SECONDS = 1 << 30, 10
"""The most memory and processor time that looking into some files may take."""


class Refused(Exception):  # noqa: N818  (said to the process that asked)
    """What a results file of Armillary does not hold."""


def inspected(path: str) -> dict[str, Any]:
    """All that a file says, without its numbers."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise Refused("it is no regular file")
    if found.st_size > SPARSE_BYTES and 0 < found.st_blocks * 512 * SPARSE < found.st_size:
        raise Refused(f"it claims {found.st_size} bytes and holds {found.st_blocks * 512}")
    with h5py.File(path, "r") as file:
        if file.userblock_size:
            raise Refused("it does not begin with HDF5's own head")
        names = links(file, "/", GROUPS)
        groups: dict[str, Any] = {}
        budget = [min(TEXT_BYTES, found.st_size)]
        for name in names:
            inner = h5o.open(file.id, name.encode())
            if not isinstance(inner, h5g.GroupID):
                raise Refused(f"/{name} is no group")
            groups[name] = group(h5py.Group(inner), name, found.st_size, budget)
        return {"attributes": attributes(file.id, "/"), "groups": groups}


def links(inside: h5py.Group, where: str, most: int) -> list[str]:
    """The names in a group: few, printable, and each of something that lies in this file."""
    if len(inside) > most:
        raise Refused(f"{where} holds {len(inside)} entries, at most {most} are read")
    names = list(inside)
    for name in names:
        if not isinstance(name, str) or not name.isprintable() or name in (".", "..") or len(name) > 255:
            raise Refused(f"{where} holds an entry with an unprintable name")
        if inside.id.links.get_info(name.encode()).type != h5l.TYPE_HARD:
            raise Refused(f"{where.rstrip('/')}/{name} is a link to elsewhere")
    return names


def group(inside: h5py.Group, name: str, size: int, budget: list[int]) -> dict[str, Any]:
    """One group: its attributes, its axes, its arrays."""
    arrays = {}
    for each in links(inside, f"/{name}", LINKS):
        opened = h5o.open(inside.id, each.encode())
        if not isinstance(opened, h5d.DatasetID):
            raise Refused(f"/{name}/{each} is a group in a group")
        arrays[each] = opened
    scales = {h5o.get_info(opened).addr: each for each, opened in arrays.items() if is_scale(opened)}
    described = {each: array(opened, f"/{name}/{each}", size, scales) for each, opened in arrays.items()}
    axes = {each: described[each]["shape"][0] for each in scales.values()}
    for each, about in described.items():
        if about["shape"] != [axes[axis] for axis in about["axes"]]:
            raise Refused(f"/{name}/{each} does not have the lengths of its axes")
    unnamed = {each for each in scales.values() if is_unnamed(arrays[each])}
    for axis, length in axes.items():
        if length > (size if axis in unnamed else LABELS):
            raise Refused(f"the axis {axis} of /{name} is {length} long")
    variables = {each: about for each, about in described.items() if each not in unnamed}
    for each, about in variables.items():
        if about["dtype"] == "text":
            about["texts"] = texts(h5py.Dataset(arrays[each]), f"/{name}/{each}", about, budget)
    return {"attributes": attributes(inside.id, f"/{name}"), "variables": variables}


def is_scale(opened: h5d.DatasetID) -> bool:
    """Whether an array is an axis."""
    return h5a.exists(opened, b"CLASS") and len(opened.shape) == 1


def is_unnamed(opened: h5d.DatasetID) -> bool:
    """Whether an axis has a length and nothing along it."""
    if not h5a.exists(opened, b"NAME"):
        return False
    name = h5a.open(opened, b"NAME")
    if not isinstance(name.get_type(), h5t.TypeStringID) or name.get_storage_size() > 1024:
        return False
    text = h5py.Dataset(opened).attrs["NAME"]
    return (text.encode() if isinstance(text, str) else bytes(text)).startswith(UNNAMED)


def array(opened: h5d.DatasetID, where: str, size: int, scales: dict[int, str]) -> dict[str, Any]:
    """Type, shape, axes, attributes of an array, and where its bytes begin; nothing of it lies elsewhere."""
    made = opened.get_create_plist()
    if made.get_layout() != h5d.CONTIGUOUS or made.get_nfilters():
        raise Refused(f"{where} is not stored in one piece")
    if made.get_external_count():
        raise Refused(f"{where} is stored in another file")
    shape = [int(length) for length in opened.shape]
    if len(shape) > DIMENSIONS:
        raise Refused(f"{where} has {len(shape)} axes")
    kind, width = number_or_text(opened.get_type(), where)
    own = scales.get(h5o.get_info(opened).addr)
    axes = [own] if own is not None else axes_of(opened, where, len(shape), scales)
    about = {"dtype": kind, "shape": shape, "axes": axes, "attributes": attributes(opened, where)}
    declared = width
    for length in shape:
        declared *= length
    start = opened.get_offset()
    if declared == 0 or (own is not None and is_unnamed(opened)):
        return about | {"offset": 0}
    if start is None or opened.get_storage_size() != declared or start + declared > size:
        raise Refused(f"{where} declares {declared} bytes and the file holds {opened.get_storage_size()}")
    return about | {"offset": int(start)}


def number_or_text(kind: h5t.TypeID, where: str) -> tuple[str, int]:
    """The type of an array as numpy writes it, or text; and how many bytes one of them takes in the file."""
    if isinstance(kind, h5t.TypeStringID) and kind.is_variable_str():
        return "text", REFERENCE_BYTES
    if isinstance(kind, h5t.TypeIntegerID | h5t.TypeFloatID):
        known: np.dtype[Any] = kind.dtype
        if known.kind in "iuf" and known.itemsize <= 8 and h5t.py_create(known).equal(kind):
            return known.str, known.itemsize
    raise Refused(f"{where} holds neither numbers nor texts")


def axes_of(opened: h5d.DatasetID, where: str, count: int, scales: dict[int, str]) -> list[str]:
    """The names of the axes that an array runs along, all of its own group."""
    if count == 0:
        return []
    if not h5a.exists(opened, b"DIMENSION_LIST"):
        raise Refused(f"{where} has no axes")
    kept = h5a.open(opened, b"DIMENSION_LIST")
    if kept.shape != (count,) or not isinstance(kept.get_type(), h5t.TypeVlenID):
        raise Refused(f"{where} has no axes")
    found = []
    for references in h5py.Dataset(opened).attrs["DIMENSION_LIST"]:
        address = h5o.get_info(h5r.dereference(references[0], opened)).addr if len(references) == 1 else None
        if address not in scales:
            raise Refused(f"{where} runs along an axis of another group")
        found.append(scales[address])
    return found


def texts(dataset: h5py.Dataset, where: str, about: dict[str, Any], budget: list[int]) -> list[str]:
    """Every text of an array; their lengths are summed up before one of them is read."""
    count = int(np.prod(about["shape"], dtype=object))
    if count == 0:
        return []
    with open(dataset.file.filename, "rb") as file:
        file.seek(about["offset"])
        raw = np.frombuffer(file.read(count * REFERENCE_BYTES), "<u4").reshape(count, REFERENCE_BYTES // 4)
    budget[0] -= int(raw[:, 0].sum(dtype=np.uint64)) + count
    if budget[0] < 0:
        raise Refused(f"{where} declares longer texts than the file holds")
    return [decoded(text, where) for text in np.ravel(dataset[()])]


def attributes(of: Any, where: str) -> dict[str, Any]:
    """The attributes of a group or an array: texts, numbers and short lists of numbers."""
    count = h5a.get_num_attrs(of)
    if count > ATTRIBUTES:
        raise Refused(f"{where} has {count} attributes, at most {ATTRIBUTES} are read")
    found = {}
    for index in range(count):
        opened = h5a.open(of, index=index)
        name = decoded(opened.name, where)
        if name not in OWN | NETCDF:
            found[name] = attribute(opened, f"{where}, attribute {name[:64]!r}")
    return found


def attribute(opened: h5a.AttrID, where: str) -> Any:
    """One attribute as plain JSON."""
    kind, count = opened.get_type(), opened.get_space().get_simple_extent_npoints()
    if opened.get_storage_size() > ATTRIBUTE_BYTES or count > ATTRIBUTE_BYTES:
        raise Refused(f"{where} is too large")
    if count == 0:
        return []
    text = isinstance(kind, h5t.TypeStringID)
    if not text and opened.dtype != np.bool_:  # which HDF5 keeps as names of numbers
        number_or_text(kind, where)
    values = np.empty(opened.shape, opened.dtype)
    opened.read(values)
    flat = [decoded(value, where) if text else value.item() for value in np.ravel(values)]
    if any(len(value) > ATTRIBUTE_BYTES for value in flat if isinstance(value, str)):
        raise Refused(f"{where} is too large")
    return flat[0] if count == 1 else flat


def decoded(text: Any, where: str) -> str:
    """A text of the file."""
    if isinstance(text, str):
        return text
    try:
        return bytes(text).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"{where} holds a text that is not UTF-8") from error


def answered(path: str) -> dict[str, Any]:
    """What a file says, or why it is refused."""
    try:
        return {"file": inspected(path)}
    except Refused as error:
        return {"refused": str(error)}
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, IndexError, MemoryError, OverflowError) as error:
        return {"refused": (str(error) or type(error).__name__).splitlines()[0][:200]}


def limit() -> None:
    """Limit this process; where the system knows no limits, whoever started it watches the time."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    limit()
    for one in sys.argv[1:]:
        sys.stdout.write(json.dumps(answered(one)) + "\n")

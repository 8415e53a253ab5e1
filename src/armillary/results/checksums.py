"""A checksum for every array of a group and one for all else that a group says: a changed byte does not go unnoticed.

CRC-32 finds every change of up to four neighbouring bytes, and any other with a chance of one in four billion that it
does not. It is no defence against people, who can compute it too.
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

NAME = "armillary_checksums"
"""The attribute of a group that holds them, as JSON."""

REST = ""
"""Under which name the one for names, axes, attributes and texts stands."""


def of_numbers(values: np.ndarray) -> int:
    """The checksum of an array as it is stored."""
    return zlib.crc32(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data) if values.size else 0


def of_rest(attributes: Mapping[str, Any], variables: Mapping[str, Mapping[str, Any]]) -> int:
    """The checksum of what a group says beside its numbers, however it is stored."""
    said = {name: value for name, value in attributes.items() if name != NAME}
    kept = {
        name: {key: about[key] for key in ("dtype", "shape", "axes", "attributes", "texts") if key in about}
        for name, about in variables.items()
    }
    return zlib.crc32(json.dumps([said, kept], sort_keys=True).encode())


def read(attributes: Mapping[str, Any]) -> dict[str, int] | None:
    """The checksums that a group brings; None where it has none, as those of earlier versions."""
    if NAME not in attributes:
        return None
    try:
        found = json.loads(attributes[NAME])
        return {str(name): int(value, 16) for name, value in found.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}


def written(checksums: Mapping[str, int]) -> str:
    """Checksums as the text of an attribute."""
    return json.dumps({name: f"{value:08x}" for name, value in checksums.items()})

"""What the files of a model declare, held against limits and against what they hold, before a library believes it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from armillary.errors import SourceError

CONFIG_BYTES, TOKENIZER_BYTES = 10 << 20, 256 << 20
"""The most bytes of a config and of a file of a tokenizer."""

BLOCKS, WIDEST = 2048, 1 << 31
"""The most blocks of a model, and the largest of all its other sizes."""

ATTENTION = (None, "eager", "sdpa", "flex_attention")
"""The attention that a config may ask for: part of transformers and torch. Any other name would be fetched and run."""


def json_object(path: Path, most: int = CONFIG_BYTES) -> dict[str, Any]:
    """The JSON object in a file, whatever the file claims to be."""
    if not path.is_file() or path.stat().st_size > most:
        raise SourceError(f"expected a file of at most {most >> 20} MB at {path}, got another: fetch it again")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"expected JSON in {path}, got something else ({error}): fetch the file again") from error
    if not isinstance(found, dict):
        raise SourceError(f"expected a JSON object in {path}, got {type(found).__name__}: fetch the file again")
    return found


def entries(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every named entry of nested JSON, with its own name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key), inner
            yield from entries(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from entries(inner, name)


def refuse_excess(config: dict[str, Any], where: Path) -> None:
    """Refuse a config with more blocks than any model has, or with a size that no machine holds."""
    for name, value in entries(config):
        if not isinstance(value, int) or isinstance(value, bool):
            continue
        most = BLOCKS if is_depth(name) else WIDEST
        if abs(value) > most:
            raise SourceError(
                f"expected {name} of at most {most} in {where}, got {str(value)[:30]}: fetch the file again"
            )


def is_depth(name: str) -> bool:
    """Whether an entry of a config counts blocks or other parts that are made one by one."""
    last = name.lower().rpartition(".")[2]
    counted = last.startswith(("num_", "n_")) and any(word in last for word in ("layer", "block", "expert"))
    return counted or last.endswith(("_layers", "block_count", "_depth")) or last in ("layers", "depth", "n_layer")


def refuse_foreign_code(config: dict[str, Any], where: Path) -> None:
    """Refuse a config that names code of its own: modules beside it, or attention that would be fetched by name."""
    for name, value in entries(config):
        if name == "auto_map" and value:
            raise SourceError(
                f"expected a model whose code is part of transformers, got custom code ({where.parent}): "
                "read that code, then allow it with trust_remote_code=True (--trust-remote-code)"
            )
        if name.endswith(("attn_implementation", "attn_implementation_internal")) and value not in ATTENTION:
            raise SourceError(
                f"expected attention that is part of transformers in {where}, got {str(value)[:60]!r}, which would be "
                "fetched and run: take that line out, or allow it with trust_remote_code=True (--trust-remote-code)"
            )

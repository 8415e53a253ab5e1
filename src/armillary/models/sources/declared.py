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

TOKENS, MADE = 1 << 21, 1 << 14
"""The ids of tokens are below the first: libraries walk through all of them up to the highest, whether there is a token
or not. The second is the most tokens that a number in a tokenizer's config may ask for: they are made one by one."""

ASKED = ("extra_ids", "offset")
"""The names of such numbers in transformers."""

UNSTORED = 1 << 26
"""The most numbers of a small model that are in none of its files: masks and positions are computed."""

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


def refuse_many_tokens(config: dict[str, Any], where: Path) -> None:
    """Refuse a tokenizer's config that asks for more tokens than can be made soon, or gives one an id far away."""
    for name in ASKED:
        value = config.get(name)
        if isinstance(value, int) and value > MADE:
            raise SourceError(
                f"expected {name} of at most {MADE} in {where}, got {str(value)[:30]}: fetch the file again"
            )
    added = config.get("added_tokens_decoder")
    for name in added if isinstance(added, dict) else ():
        if name.isdecimal() and (len(name) > len(str(TOKENS)) or int(name) >= TOKENS):
            raise far_id(where, name)


def refuse_no_tokenizer(config: dict[str, Any], where: Path) -> None:
    """Refuse a config that calls something else its tokenizer: transformers would load a whole model by that name."""
    named = config.get("tokenizer_class")
    if isinstance(named, str) and named and "Tokenizer" not in named and not named.endswith("Backend"):
        raise SourceError(f"expected a tokenizer as tokenizer_class in {where}, got {named[:60]!r}: take that line out")


def refuse_far_ids(ids: dict[str, int], where: Path) -> None:
    """Refuse the vocabulary of a tokenizer one of whose ids is far beyond all that a vocabulary needs."""
    if (far := max(ids.values(), default=0)) >= TOKENS:
        raise far_id(where, str(far))


def far_id(where: Path, got: str) -> SourceError:
    """A token whose id is too large."""
    return SourceError(f"expected ids of tokens below {TOKENS} in {where}, got {got[:30]}: fetch the file again")


def refuse_unstored(config: dict[str, Any], declared: int, stored: int, where: Path) -> None:
    """Refuse a config that declares many more numbers than the weight files hold: the rest would be made up.

    Half of them may lack, as a head does, and a quantised file packs up to 32 into one.
    """
    packed = any(value and name in ("quantization_config", "compression_config") for name, value in entries(config))
    if declared > stored * (32 if packed else 2) + UNSTORED:
        raise SourceError(
            f"expected a config of about the {stored} numbers that the weights in {where} hold, "
            f"got one that declares {declared}: fetch it again"
        )

"""GGUF files: dequantised once into a plain folder (safetensors, config, fast tokenizer) that loads in a moment."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from armillary.errors import SourceError
from armillary.models.sources.border import Reading, offline
from armillary.models.sources.checkpoints import declared_numbers
from armillary.models.sources.declared import refuse_unstored
from armillary.models.sources.gguf_head import refuse_excess_gguf
from armillary.models.sources.quiet import quiet
from armillary.system.caches import cache_dir, cache_entry, cache_lock, file_sha256_once

_LAYOUT = "1"  # part of the key: a change in what is written makes new entries instead of misreading old ones


def dequantised(path: Path) -> Path:
    """The folder of the dequantised model, keyed by the file's sha256; made on first use, whole or not at all."""
    _refuse_no_gguf(path)
    entry = cache_dir() / "gguf" / f"{file_sha256_once(path)}-{_LAYOUT}"
    if entry.is_dir():
        return entry
    with cache_lock(entry):
        if not entry.is_dir():
            _refuse_broken(path)
            with cache_entry(entry) as fresh:
                _convert(path, fresh)
    return entry


def _refuse_no_gguf(path: Path) -> None:
    try:
        if path.exists() and not path.is_file():
            raise SourceError(f"expected a GGUF file at {path}, got no file: check the path")
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise SourceError(f"expected a GGUF file at {path}, got {error.strerror}: check the path") from error
    if magic != b"GGUF":
        raise SourceError(f"expected a GGUF file at {path}, got a file that begins with {magic!r}: check the file")


def _refuse_broken(path: Path) -> None:
    """Read the whole directory of tensors first: transformers' own errors on a cut file do not name the file.

    Then hold what the values declare against the tensors.
    """
    import gguf
    from transformers import AutoConfig, AutoModelForCausalLM

    stored = refuse_excess_gguf(path)
    with Reading(f"a complete GGUF file at {path}, no truncated or damaged one"):
        gguf.GGUFReader(path)
    with quiet(), offline(), Reading(f"a GGUF file that transformers can read at {path}"):
        config = AutoConfig.from_pretrained(str(path.parent), gguf_file=path.name, local_files_only=True)
        refuse_unstored({}, declared_numbers(config, AutoModelForCausalLM), stored, path)


@contextmanager
def _no_bar() -> Iterator[None]:
    """Silence the bar that transformers' GGUF reader draws past its own switch: it spoils logs, and our own line."""
    from transformers import modeling_gguf_pytorch_utils as reader

    def plain(tensors: Iterable[Any], **_: Any) -> Iterable[Any]:
        return tensors

    drawn = reader.tqdm
    reader.tqdm = plain
    try:
        yield
    finally:
        reader.tqdm = drawn


def _convert(path: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where: dict[str, Any] = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    with quiet(), _no_bar(), offline(), Reading(f"a GGUF file that transformers can read at {path}"):
        quantised = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32, local_files_only=True)
        tokenizer = AutoTokenizer.from_pretrained(**where, local_files_only=True)
        config = quantised.config
        # transformers refuses to save a model that still says it is quantised; its tensors are plain by now.
        del config.quantization_config
        plain = type(quantised)(config)
        plain.load_state_dict(quantised.state_dict())
    with quiet():
        plain.save_pretrained(folder)
        tokenizer.save_pretrained(folder)

"""A folder that holds a checkpoint: what is refused before transformers sees it, and how it becomes a model."""

import hashlib
import pickle
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armillary.corpora.tokens import encoded
from armillary.errors import SourceError
from armillary.models.sources.border import Reading, offline
from armillary.models.sources.declared import (
    TOKENIZER_BYTES,
    json_object,
    refuse_excess,
    refuse_far_ids,
    refuse_foreign_code,
    refuse_many_tokens,
    refuse_no_tokenizer,
    refuse_unstored,
)
from armillary.models.sources.pages import head_of, numbers_of, paged, stored_dtype
from armillary.models.sources.quiet import quiet
from armillary.system.caches import file_sha256_once

_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.txt",
    "vocab.json",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tekken.json",
)
# Parts that no state passes through: a checkpoint may lack them without changing anything that is measured.
_UNUSED_PARTS = re.compile(r"(^|\.)pooler\.")
_HEADS = (
    (re.compile(r"(ForCausalLM|LMHeadModel|ForConditionalGeneration)$"), "AutoModelForCausalLM"),
    (re.compile(r"(ForMaskedLM|ForPreTraining)$"), "AutoModelForMaskedLM"),
)

STORED = "stored"
"""The dtype of the weight files: they are then read as pages of these files, not copied into memory."""


@dataclass(frozen=True)
class Terms:
    """What is wanted of a source, and what the user allows it to do: run its own code, hold its weights in pickles."""

    revision: str | None = None
    remote_code: bool = False
    pickles: bool = False
    weights: bool = True
    local_files_only: bool = False


@dataclass(frozen=True)
class Checkpoint:
    """A folder on disk and what is known of its origin."""

    folder: Path
    kind: str
    revision: str = ""
    licence: str = ""
    sha256: str = ""

    def config(self) -> dict[str, Any]:
        """config.json as it stands; SourceError when there is none or it is no JSON object."""
        path = self.folder / "config.json"
        if not path.is_file():
            ggufs = sorted(file.name for file in self.folder.glob("*.gguf"))
            hint = f"give the path of {ggufs[0]} in it" if ggufs else "give the folder that save_pretrained wrote"
            raise SourceError(f"expected config.json in {self.folder}, got none: {hint}")
        return json_object(path)

    def weight_files(self) -> list[Path]:
        """The files that hold the weights: safetensors where there are any, else pickles."""
        for index, single, pattern in (
            ("model.safetensors.index.json", "model.safetensors", "*.safetensors"),
            ("pytorch_model.bin.index.json", "pytorch_model.bin", "*.bin"),
        ):
            if (self.folder / single).is_file():
                return [self.folder / single]
            if (self.folder / index).is_file():
                return self._shards(self.folder / index)
            if found := sorted(self.folder.glob(pattern)):
                return found
        return []

    def _shards(self, index: Path) -> list[Path]:
        named = json_object(index).get("weight_map")
        names = sorted({str(name) for name in named.values()}) if isinstance(named, dict) else []
        if not names or any("/" in name or "\\" in name for name in names):
            raise SourceError(f"expected a weight_map with names of files in {index}, got another: fetch it again")
        missing = [name for name in names if not (self.folder / name).is_file()]
        if missing:
            raise SourceError(f"expected all shards of {index}, got none named {missing[0]}: fetch it again")
        return [self.folder / name for name in names]

    def weights_sha256(self) -> str:
        """One sha256 over the weight files: of the file itself when there is one, else of the list of their hashes."""
        if self.sha256:
            return self.sha256
        hashes = [_blob_sha256(path) for path in self.weight_files()]
        return hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def _blob_sha256(path: Path) -> str:
    # The hub's cache names large files by their sha256: there is no need to read gigabytes again.
    real = path.resolve()
    if real.parent.name == "blobs" and re.fullmatch(r"[0-9a-f]{64}", real.name):
        return real.name
    return file_sha256_once(path)


def refuse_untrusted(checkpoint: Checkpoint, terms: Terms) -> None:
    """SourceError for custom code, pickles and broken weight files, before anything of them is read or run."""
    for path in (checkpoint.folder / "config.json", *configs_of(checkpoint.folder)):
        config = checkpoint.config() if path.name == "config.json" else json_object(path)
        if not terms.remote_code:
            refuse_foreign_code(config, path)
        if path.name == "config.json":
            refuse_excess(config, path)
    if not terms.weights:
        return
    files = checkpoint.weight_files()
    if not files:
        raise SourceError(f"expected model.safetensors in {checkpoint.folder}, got no weights: fetch them again")
    if any(file.suffix != ".safetensors" for file in files):
        if not terms.pickles:
            raise SourceError(
                f"expected safetensors in {checkpoint.folder}, got only the pickle {files[0].name}, which could run "
                "code: convert it, or allow it with allow_pickle=True (--allow-pickle); it is read weights-only"
            )
        return
    for file in files:
        _refuse_broken_safetensors(file)


def configs_of(folder: Path) -> list[Path]:
    """The files beside config.json that a library reads with it."""
    names = ("tokenizer_config.json", "generation_config.json", "adapter_config.json", "processor_config.json")
    return [folder / name for name in names if (folder / name).exists()]


def _refuse_broken_safetensors(file: Path) -> None:
    from safetensors import safe_open

    with Reading(f"complete safetensors in {file}, no truncated or damaged file"):
        with safe_open(file, "np"):  # for torch it would be mapped to be written to, which a large file cannot be
            pass
        head_of(file)


def model_from(checkpoint: Checkpoint, **options: Any) -> tuple[Any, str]:
    """The model, and a note on what it lacks; SourceError where transformers would fill weights at random."""
    auto, where = auto_class(checkpoint.config()), checkpoint.folder
    pickled = all(file.suffix != ".safetensors" for file in checkpoint.weight_files())
    options |= {"use_safetensors": not pickled, "weights_only": True, "output_loading_info": True}
    try:
        with quiet(), offline(), Reading(f"a checkpoint in {where}"):
            if not pickled and not options.get("trust_remote_code"):
                stored = numbers_of(checkpoint.weight_files())
                refuse_unstored(checkpoint.config(), declared_numbers(config_of(checkpoint), auto), stored, where)
            if options.get("dtype") == STORED and not pickled:
                model, info = in_place(checkpoint, auto, options)
            else:
                options |= {"dtype": "auto"} if options.get("dtype") == STORED else {}
                model, info = auto.from_pretrained(checkpoint.folder, local_files_only=True, **options)
    except SourceError as error:
        if not isinstance(error.__cause__, pickle.UnpicklingError):
            raise
        raise SourceError(
            f"expected a pickle of plain tensors in {checkpoint.folder}, got one that would run code or is damaged: "
            "do not trust it, ask its author for safetensors"
        ) from error
    return _complete(model, sorted(map(str, info["missing_keys"])), checkpoint)


def declared_numbers(config: Any, auto: Any) -> int:
    """How many numbers a config declares: transformers takes memory for all of them, whatever the files hold."""
    model = unfilled(config, auto)
    return sum(each.numel() for each in (*model.parameters(), *model.buffers()))


def config_of(checkpoint: Checkpoint, **trust: Any) -> Any:
    """The config as transformers reads it."""
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(checkpoint.folder, local_files_only=True, **trust)


def unfilled(config: Any, auto: Any, **trust: Any) -> Any:
    """The model of a config with shapes and no numbers."""
    import torch

    with torch.device("meta"):
        return auto.from_config(config, **trust)


def in_place(checkpoint: Checkpoint, auto: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The model whose weights are pages of their files, in the dtype of most of them; read where that cannot be."""
    files = checkpoint.weight_files()
    kind, tensors = stored_dtype(files), paged(files)
    if kind is None or tensors is None:
        return auto.from_pretrained(checkpoint.folder, local_files_only=True, **(options | {"dtype": "auto"}))
    trust = {"trust_remote_code": options.pop("trust_remote_code", False)}
    config = config_of(checkpoint, **trust)
    model_class = type(unfilled(config, auto, **trust))
    return model_class.from_pretrained(None, config=config, state_dict=tensors, **(options | {"dtype": kind}))


def auto_class(config: dict[str, Any]) -> Any:
    """The class of transformers that gives the model with the head its architecture names, or without one."""
    import transformers

    listed = config.get("architectures") or [""]
    named = str(listed[0]) if isinstance(listed, list) else ""
    wanted = next((auto for pattern, auto in _HEADS if pattern.search(named)), "AutoModel")
    return getattr(transformers, wanted)


def _complete(model: Any, missing: list[str], checkpoint: Checkpoint) -> tuple[Any, str]:
    missing = [key for key in missing if not _UNUSED_PARTS.search(key)]
    if not missing:
        return model, ""
    body = {id(parameter) for parameter in model.base_model.parameters()}
    named = dict(model.named_parameters(remove_duplicate=False))
    lost = [key for key in missing if key not in named or id(named[key]) in body]
    if lost or model.base_model is model:
        lost = lost or missing
        raise SourceError(
            f"expected all weights in {checkpoint.folder}, got none for {len(lost)} of them ({', '.join(lost[:3])}), "
            "which would be random: fetch the checkpoint again, or ask for random_weights=SEED"
        )
    return model.base_model, f"the checkpoint has no weights for its head ({missing[0]}): loaded without it"


def tokenizer_from(folder: Path, **options: Any) -> Any:
    """The folder's tokenizer, or None where it holds no tokenizer files (transformers would invent an empty one)."""
    from transformers import AutoTokenizer

    if not any((folder / name).is_file() for name in _TOKENIZER_FILES):
        return None
    refuse_large(folder)
    for path in (folder / "tokenizer_config.json", folder / "config.json"):
        if path.exists():
            config = json_object(path)
            if path.name != "config.json":
                refuse_many_tokens(config, path)
            if not options.get("trust_remote_code"):
                refuse_no_tokenizer(config, path)
    with quiet(), offline(), Reading(f"a tokenizer in {folder}", "give tokenizer=..."):
        found = AutoTokenizer.from_pretrained(folder, local_files_only=True, **options)
        # Asked here because ids stand in files of many kinds, and because reading them is still cheap: writing is not.
        if (backend := getattr(found, "backend_tokenizer", None)) is not None:
            refuse_far_ids(backend.get_vocab(), folder)
        # transformers keeps what a config says, of whatever type, and stumbles over it at the first text.
        encoded(found, [""])
        return found


def refuse_large(folder: Path) -> None:
    """Refuse files of a tokenizer that are none or larger than any tokenizer is."""
    for path in folder.iterdir():
        if path.suffix not in (".json", ".txt", ".model", ".jinja") or path.name.endswith(".index.json"):
            continue
        if not path.is_file() or path.stat().st_size > TOKENIZER_BYTES:
            most = TOKENIZER_BYTES >> 20
            raise SourceError(f"expected a file of at most {most} MB at {path}, got another: fetch it again")

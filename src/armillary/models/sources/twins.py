"""The random-weight control of a model: same config, fresh weights by the model's own initialisation from a seed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psutil
import torch

from armillary.errors import SourceError
from armillary.models.sources.border import Reading, offline
from armillary.models.sources.checkpoints import STORED, Checkpoint, auto_class, config_of, unfilled
from armillary.models.sources.quiet import quiet
from armillary.models.view import View
from armillary.models.weights import submodule


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """The CPU's random numbers from `seed` inside, and as if nothing had happened afterwards."""
    state = torch.get_rng_state()
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(state)


def twin_of_checkpoint(checkpoint: Checkpoint, seed: int, **options: Any) -> Any:
    """The random-weight control of a folder's model; its weight files are not read."""
    trust = options.get("trust_remote_code", False)
    options.pop("device_map", None)
    if options.get("dtype") in ("auto", STORED):
        options.pop("dtype")
    with quiet(), offline(), Reading(f"a readable config in {checkpoint.folder}"):
        config = config_of(checkpoint, trust_remote_code=trust)
        auto = auto_class(checkpoint.config())
        refuse_no_room(auto, config, trust, checkpoint)
        with seeded(seed):
            return auto.from_config(config, **options)


def refuse_no_room(auto: Any, config: Any, trust: bool, checkpoint: Checkpoint) -> None:
    """Refuse a config that declares more weights than fit into memory."""
    model = unfilled(config, auto, trust_remote_code=trust)
    needed, there = sum(weight.numel() for weight in model.parameters()) * 4, psutil.virtual_memory().total
    if needed > there:
        raise SourceError(
            f"expected a config in {checkpoint.folder} whose weights fit into {there / 1e9:.0f} GB, "
            f"got one that needs {needed / 1e9:.0f} GB: choose a smaller model"
        )


def twin_of_model(model: Any, seed: int) -> Any:
    """The random-weight control of a loaded model, on its device and in its dtype; the model itself is left alone."""
    with quiet(), seeded(seed):
        twin = type(model)._from_config(model.config, dtype=model.dtype)
    return twin.to(model.device)


def twin_blocks(view: View, seed: int) -> Iterator[tuple[int, View]]:
    """Every block of the random-weight control, with a View in which it and the one before it hold weights.

    The control is never whole in memory: other parts of it have shapes and no numbers.
    """
    with quiet(), torch.device("meta"):
        model = type(view.model)._from_config(view.model.config, dtype=view.model.dtype)
    twin = replace(view, model=model)
    family = twin.known_family("weights")
    before = submodule(twin.backbone, family.embedding_norm)
    for block, module in enumerate(twin.blocks):
        with seeded(seed + block):
            for part in (before, module):
                if part is not None:
                    initialised(model, part)
        yield block, twin
        if before is not None and before is not module:
            before.to_empty(device="meta")
        before = module


def initialised(model: Any, part: torch.nn.Module) -> None:
    """Fill a part of a model with fresh weights by the model's own rule, unless it holds some."""
    if any(parameter.is_meta for parameter in part.parameters()):
        part.to_empty(device="cpu")
        part.apply(model._init_weights)
        part.requires_grad_(False)

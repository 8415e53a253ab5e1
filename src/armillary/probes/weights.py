"""The weights of a model block by block, measured head by head; no pass, and one block in memory at a time."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Int

from armillary.errors import NonFiniteError
from armillary.measures.spectra.matrices import singular_values
from armillary.models.attention import rotate
from armillary.models.sources.twins import twin_blocks
from armillary.models.view import View
from armillary.results.measuring import described, measures_of
from armillary.results.schema import GROUPS
from armillary.results.schema.weights import HEAD_MEASURES
from armillary.surveys.memory import give_back
from armillary.system.threads import side_by_side

DISTANCES = (0, *(2**power for power in range(11)))
"""Relative distances at which W_QK is looked at under RoPE, as far as the model's windows reach."""

LENGTH, PLACES = 40, 9
"""The window of the document's own figure, and at how many of its places ρ is computed."""

NOT_BILINEAR = (
    "This model normalises queries and keys: its scores are not x W_QK yᵀ, and spectra of W_QK describe weights alone."
)

Report = Callable[[int], None]


def weight_groups(
    view: View, seed: int, report: Report, *, length: int = LENGTH, covariance: xr.DataArray | None = None
) -> dict[str, xr.Dataset]:
    """The groups of a model's weights and of its random-weight control, by one walk over the blocks.

    `length` is the window whose localization is looked at, `covariance` that of the attentions' inputs.
    """
    found: dict[str, list[xr.Dataset]] = {}
    walk = {"length": length, "places": xr.DataArray(places_in(length), dims="place")}
    for block, twin in twin_blocks(view, seed):
        turns = rotations(view, block)
        given = walk if covariance is None else walk | {"covariance": covariance.isel(block=block)}
        own, control = head_arrays(view, block) | turns | given, head_arrays(twin, block) | turns
        blocks = block_groups(own, control, matrices_of(view, block), matrices_of(twin, block))
        for group, dataset in blocks.items():
            held = [name for name in GROUPS[group].variables if name in dataset]
            found.setdefault(group, []).append(dataset[held])
        give_back()  # blocks of equal sizes tear free memory to pieces, and it grew with every one of them
        report(1)
    groups = {group: joined(blocks, group) for group, blocks in found.items()}
    groups["localization"] = groups["localization"].assign_coords(place=places_in(length)).assign_attrs(length=length)
    if not view.heads(0).bilinear:
        groups["weights"].attrs["note"] = NOT_BILINEAR
    return groups


def places_in(length: int) -> Int[np.ndarray, " place"]:
    """Nine places of a window, or all where it is shorter, the first and the last among them; counted from 1."""
    return np.unique(np.linspace(1, length, min(length, PLACES)).round().astype(np.int64))


def head_arrays(view: View, block: int) -> dict[str, Any]:
    """What the measures may ask for by name: one block's weights by head, the scale of its scores, its norm."""
    heads = view.heads(block)
    inwards, outwards = ("head", "d_model", "d_head"), ("head", "d_head", "d_model")
    arrays: dict[str, Any] = {
        name: finite(getattr(heads, name), outwards if name == "W_O" else inwards, f"{name} of block {block}")
        for name in ("W_Q", "W_K", "W_V", "W_O")
    }
    arrays |= {"scale": heads.scale, "d_model": view.d_model}
    norm = view.attention_norm(block)
    if norm is None:
        return arrays
    gain = finite(norm.gain, ("d_model",), f"the gain of the norm before the attention of block {block}")
    return arrays | {"gain": gain, "centring": norm.kind == "layer"}


def finite(tensor: torch.Tensor, dims: tuple[str, ...], name: str) -> xr.DataArray:
    """A tensor of weights with named axes, float32 or wider; refused where an entry is NaN or infinite."""
    wide = tensor.detach().to(device="cpu", dtype=torch.promote_types(tensor.dtype, torch.float32))
    # A sum is quick and finite where every entry is; where it is not, entries are counted (it may only be large).
    bad = 0 if bool(torch.isfinite(wide.sum())) else int((~torch.isfinite(wide)).sum())
    if bad:
        raise NonFiniteError(
            f"expected finite weights, got {bad} of {wide.numel()} that are NaN or infinite in {name}: "
            "the checkpoint is damaged, fetch it again"
        )
    return xr.DataArray(wide.numpy(), dims=dims)


def rotations(view: View, block: int) -> dict[str, Any]:
    """R_Δ at every distance as `turns`, acting on row vectors, and how many coordinates are `rotated`, where any are.

    A query turned by Δ meets a key turned by 0. Nothing in a model without rotation; where a block of a rotating model
    does not rotate, all turns are I.
    """
    if view.known_family("rotation").rotary is None:
        return {}
    distances = torch.tensor(
        [[distance for distance in DISTANCES if distance < (view.max_length or DISTANCES[-1] + 1)]]
    )
    turned = view.rotation(block, distances)
    dims = ("distance", "d_head", "d_head_")
    width, count = view.d_head, distances.shape[1]
    if turned is None:
        return {"turns": xr.DataArray(np.broadcast_to(np.eye(width), (count, width, width)), dims=dims)}
    attention = view.blocks[block].get_submodule(view.known_family("rotation").attention)
    unit_vectors = torch.eye(width)[None, :, None].expand(1, width, count, width)
    cosines, sines = (part.float() for part in turned)
    turns = rotate(attention, unit_vectors, (cosines, sines))[0].double().transpose(0, 1)
    return {"turns": xr.DataArray((turns @ turns[0].mT).numpy(), dims=dims), "rotated": cosines.shape[-1]}


def block_groups(
    own: dict[str, Any],
    control: dict[str, Any],
    matrices: dict[str, np.ndarray],
    matrices_control: dict[str, np.ndarray],
) -> dict[str, xr.Dataset]:
    """The groups of one block: heads and every matrix, of the model and of the control, each on a core of its own.

    Heads go through their measures on one core: a thread for every measure of every head waits longer than it works.
    """
    work: list[Callable[[], Any]] = [partial(head_measures, own), partial(head_measures, control)]
    work += [partial(singular_values, matrix) for matrix in (*matrices.values(), *matrices_control.values())]
    heads, heads_control, *spectra = side_by_side(lambda part: part(), work)
    return {
        "weights": heads,
        "localization": heads,
        "matrix_spectra": matrix_spectra(matrices, spectra[: len(matrices)]),
        "weights_twin": heads_control,
        "matrix_spectra_twin": matrix_spectra(matrices_control, spectra[len(matrices) :]),
    }


def head_measures(arrays: dict[str, Any]) -> xr.Dataset:
    """The measures of the schema on one block's heads; those whose parameters this model lacks are left out."""
    return xr.merge(measures_of(HEAD_MEASURES, dict(arrays), map), join="exact", compat="override")


def matrices_of(view: View, block: int) -> dict[str, np.ndarray]:
    """The whole matrices of a block by name; refused where one is not finite."""
    return {
        name: finite(tensor, ("inputs", "outputs"), f"the {name} matrix of block {block}").values
        for name, tensor in view.matrices(block).items()
    }


def matrix_spectra(matrices: dict[str, np.ndarray], spectra: list[np.ndarray]) -> xr.Dataset:
    """Shapes and singular values of the whole matrices of a block."""
    longest = max(map(len, spectra))
    padded = [np.pad(values, (0, longest - len(values)), constant_values=np.nan) for values in spectra]
    shapes = np.array([W.shape for W in matrices.values()])
    return xr.Dataset(
        {
            "singular_value": (("matrix", "mode"), np.stack(padded)),
            "rows": ("matrix", shapes[:, 0]),
            "columns": ("matrix", shapes[:, 1]),
        },
        coords={"matrix": list(matrices)},
    )


def joined(blocks: list[xr.Dataset], group: str) -> xr.Dataset:
    """The blocks along one axis; a variable that some blocks lack is NaN there."""
    whole = xr.concat(blocks, dim="block", data_vars="all", join="outer")
    reach = whole.sizes.get("distance", 0)
    return described(group, whole.assign_coords(distance=list(DISTANCES[:reach])) if reach else whole)
